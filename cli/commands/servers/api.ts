import { collectGarbageSooner } from '../../../lib/process/collect-sooner.ts'
import { inlineMore } from '../../../lib/process/inline-more.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import { separateFlags } from '../../api/extract-flags.ts'
import { type Command, defineCommand } from '../../command.ts'
import { usageError } from '../../ui/output.ts'

const SUBCOMMANDS = ['check', 'explain', 'schema', 'diff', 'apply', 'history', 'rollback']

const command: Command = defineCommand({
  name: 'api',
  description: 'Start a standalone gateway',
  settings: 'api',
  // Used for help and completion; raw subcommands parse their flags themselves.
  flags: {
    '-H, --header <name: value>...': 'explain: header of the request',
    '-d, --data <body>': 'explain: body of the request',
    '--on <listener>': 'explain: listener that receives the request (default: the main listener)',
    '--client <ip>':
      'explain: IP address of the client (default: 127.0.0.1, or none at a Unix socket)',
    '--if_match <etag>': 'apply, rollback: ETag that the current version must have',
    '--server':
      'explain, diff, apply, history, rollback: use the gateway of mx server, as an administrator',
    '--env <name>':
      'explain, diff, apply, history, rollback: environment of --server (default: the selected one)',
    '-o, --output <format>': 'check, explain, diff, history: text, json or yaml (default: text)',
  },
  examples: [
    'mx api --handler=proxy --backend greeter=127.0.0.1:9001,127.0.0.1:9002',
    'mx api --handler=web --address :8080 --config mx.yaml',
    'mx api check --config mx.yaml',
    "mx api explain GET /greeter/hello -H 'Host: example.com'",
    'mx api explain GET /helloworld/call --server',
    'mx api diff next.yaml',
    'mx api apply next.yaml --server',
  ],
  arrange: wordsFirst,
  summaries: {
    check: 'Validate the configuration without starting the gateway',
    schema: 'Print the JSON Schema of mx.yaml, for editors',
    explain: 'Explain how the gateway would handle a request, without sending it',
    diff: 'Compare a file with the configuration of the running gateway',
    apply: 'Replace the configuration of the running gateway',
    history: 'List the versions of the configuration of the running gateway',
    rollback: 'Apply an earlier version of the configuration as a new one',
  },
  rawSubcommands: {
    'check [-o <format>]': async (args) => (await import('../../api/check.ts')).runCheck(args),
    schema: async (args) => (await import('../../api/schema.ts')).runSchema(args),
    'explain [METHOD] <path> [-H <header>] [-d <body>] [--on <name>] [--client <ip>] [--server]':
      async (args) => (await import('../../api/explain.ts')).runExplain(args),
    'diff <file> [-o <format>] [--server]': async (args) =>
      (await import('../../api/config.ts')).runDiff(args),
    'apply <file> [--if_match <etag>] [--server]': async (args) =>
      (await import('../../api/config.ts')).runApply(args),
    'history [-o <format>] [--server]': async (args) =>
      (await import('../../api/config.ts')).runHistory(args),
    'rollback [version] [--if_match <etag>] [--server]': async (args) =>
      (await import('../../api/config.ts')).runRollback(args),
  },
  async runRaw(args) {
    checkWord(wordsFirst(args)[0])
    const { runApi } = await import('../../../platform/gateway/run.ts')
    await runApi(args, process.env)
    inlineMore()
    collectGarbageSooner()
  },
})

export default command

function wordsFirst(args: readonly string[]): readonly string[] {
  const { words, flags } = separateFlags(args)
  return [...words, ...flags]
}

/** @throws {CliError} for a misspelled subcommand; the platform rejects any other argument */
function checkWord(word: string | undefined): void {
  if (word === undefined || word.startsWith('-')) return
  const similar = suggest(word, SUBCOMMANDS)
  if (similar !== undefined)
    throw usageError('api', `Unrecognized subcommand for mx api: ${word}, did you mean ${similar}?`)
}
