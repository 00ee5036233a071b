"""How each option reaches the CLI, and since when the CLI knows it.

A version is the oldest of those measured (1.0.128, 2.1.17, 2.1.325) in which the option has its
effect. An older CLI that does not know a flag refuses to start; a field of `initialize` or a
variable that it does not know it ignores in silence.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FIXED_FLAGS", "MEASURED", "TABLE", "Way", "option_of"]

MEASURED = ("1.0.128", "2.1.17", "2.1.325")
"""The versions that were looked at, from the oldest to the newest."""

FIXED_FLAGS = frozenset(
    {
        "--await-claim",
        "--help",
        "--input-format",
        "--output-format",
        "--permission-prompt-tool",
        "--print",
        "--sdk-url",
        "--verbose",
        "--version",
    }
)
"""Flags that decide how the CLI talks, or whether it does."""

_ROWS = """
add_dirs                            --add-dir                             1.0.128
worktree                            --worktree                            2.1.325
project_config_root                 --project-config-root                 2.1.325
client_app                          CLAUDE_AGENT_SDK_CLIENT_APP           2.1.325
model                               --model                               1.0.128
fallback_model                      --fallback-model                      1.0.128
effort                              --effort                              2.1.325
thinking                            --max-thinking-tokens                 2.1.17
thinking                            --thinking                            2.1.325
thinking_display                    --thinking-display                    2.1.325
max_turns                           --max-turns                           1.0.128
max_budget_usd                      --max-budget-usd                      2.1.17
task_budget                         --task-budget                         2.1.325
autocompact                         --autocompact                         2.1.325
advisor                             --advisor                             2.1.325
betas                               --betas                               2.1.17
system_prompt                       --system-prompt-file                  1.0.128
system_prompt                       --system-prompt                       1.0.128
append_system_prompt                --append-system-prompt-file           2.1.17
append_system_prompt                --append-system-prompt                1.0.128
append_subagent_system_prompt       --append-subagent-system-prompt-file  2.1.325
append_subagent_system_prompt       --append-subagent-system-prompt       2.1.325
exclude_dynamic_sections            --exclude-dynamic-system-prompt-sections 2.1.325
system_prompt_snapshot              --system-prompt-snapshot              2.1.325
plan_mode_instructions              planModeInstructions                  2.1.325
plan_mode_instructions              --plan-mode-instructions              2.1.325
json_schema                         jsonSchema                            2.1.17
json_schema                         --json-schema                         2.1.17
verbatim_prompts                    client_composed                       2.1.325
builtin_tools                       --tools                               2.1.17
allowed_tools                       --allowedTools                        1.0.128
allowed_tools                       --allowed-tools                       1.0.128
disallowed_tools                    --disallowedTools                     1.0.128
disallowed_tools                    --disallowed-tools                    1.0.128
permission_mode                     --permission-mode                     1.0.128
permission_mode                     --dangerously-skip-permissions        1.0.128
allow_dangerously_skip_permissions  --allow-dangerously-skip-permissions  2.1.17
permission_prompts                  --permission-prompts                  2.1.325
tool_aliases                        toolAliases                           2.1.325
question_preview_format             CLAUDE_CODE_QUESTION_PREVIEW_FORMAT   2.1.325
mcp_servers                         --mcp-config                          1.0.128
mcp_config                          --mcp-config                          1.0.128
strict_mcp_config                   --strict-mcp-config                   1.0.128
agent                               --agent                               2.1.17
agents                              agents                                2.1.17
agents                              --agents                              1.0.128
plugins                             --plugin-dir                          2.1.17
plugins                             --plugin-dir-no-mcp                   2.1.325
plugin_urls                         --plugin-url                          2.1.325
plugin_delivery                     --await-initialize                    2.1.325
skills                              skills                                2.1.325
disable_slash_commands              --disable-slash-commands              2.1.17
setting_sources                     --setting-sources                     1.0.128
settings                            --settings                            1.0.128
managed_settings                    --managed-settings-in-initialize      2.1.325
managed_settings                    --await-initialize                    2.1.325
managed_settings                    --managed-settings                    2.1.325
sandbox                             --settings                            2.1.325
bare                                --bare                                2.1.325
safe_mode                           --safe-mode                           2.1.325
restricted                          --restricted                          2.1.325
resume                              --resume                              1.0.128
continue_conversation               --continue                            1.0.128
fork_session                        --fork-session                        1.0.128
session_id                          --session-id                          1.0.128
resume_session_at                   --resume-session-at                   2.1.17
resume_drops_turn                   --resume-drops-turn                   2.1.325
persist_session                     --no-session-persistence              2.1.17
session_mirror                      --session-mirror                      2.1.325
title                               title                                 2.1.325
enable_file_checkpointing           CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING 2.1.17
include_partial_messages            --include-partial-messages            1.0.128
include_hook_events                 --include-hook-events                 2.1.325
forward_subagent_text               --forward-subagent-text               2.1.325
replay_user_messages                --replay-user-messages                1.0.128
prompt_suggestions                  --prompt-suggestions                  2.1.325
agent_progress_summaries            agentProgressSummaries                2.1.325
per_task_stop_affordance            perTaskStopAffordance                 2.1.325
supported_dialog_kinds              supportedDialogKinds                  2.1.325
enable_auth_status                  --enable-auth-status                  2.1.17
debug                               --debug                               1.0.128
debug_file                          --debug-file                          2.1.325
"""


class Way(NamedTuple):
    """A way by which an option reaches the CLI.

    Attributes:
        option: the option.
        name: a flag, a variable in capitals, or else a field of a message.
        since: the oldest measured version that knows it.
    """

    option: str
    name: str
    since: str


TABLE = tuple(Way(*row.split()) for row in _ROWS.strip().splitlines())
"""Every way that the CLI has. Where there are several, the first is the one that is used."""

_BY_FLAG = {way.name: way.option for way in reversed(TABLE) if way.name.startswith("--")}


def option_of(flag: str) -> str | None:
    """Say which option a flag of the CLI stands for; None if there is none."""
    return _BY_FLAG.get(flag)
