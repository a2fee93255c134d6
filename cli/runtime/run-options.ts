import type { Command } from 'cac'

/** Adds the flags that `mx run` and `mx update` share, and their help. */
export function addRunOptions(command: Command): Command {
  return command
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace it runs in (default: that of the login)')
    .option('--name <name>', 'Its name (default: the last part of the source)')
    .option('--source <source>', 'Where its code is, in place of the first word')
    .option('--image <image>', 'Image of a container, where the platform runs those')
    .option('--entrypoint <path>', 'Folder or file of the source to run')
    .option('--command <command>', 'Command to run it with (default: as the project says)')
    .option('--args <args>', 'Arguments behind the command')
    .option('--env_vars <name=value>', 'Environment of the service; repeatable')
    .option('--secrets <name=value>', 'As --env_vars, but shown to nobody; repeatable')
    .option('--metadata <name=value>', 'What is kept beside it; repeatable')
    .option('--type <type>', 'A kind of your choice')
    .option('--instances <n>', 'How many copies (default: as the project says, else 1)')
    .option(
      '--protocol <mx|http>',
      'http: a plain HTTP program that listens where PORT says (default: mx)',
    )
    .option('--port <port>', 'Where such a program listens instead')
    .option('--memory <size>', 'Memory of a copy, such as 256mb (default: as the project says)')
    .option('--cpus <n>', 'Processors of a copy, such as 0.5 (default: as the project says)')
    .option('--allow_scripts', 'Packages may run programs of theirs while they are installed')
    .allowUnknownOptions()
}
