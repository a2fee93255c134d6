import { collectSooner } from '../../lib/process/collect-sooner.ts'
import { inlineMore } from '../../lib/process/inline-more.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { separateFlags } from '../api/extract-flags.ts'
import { type Command, defineCommand } from '../command.ts'
import { usageError } from '../ui/output.ts'

const command: Command = defineCommand({
  name: 'api',
  description: 'Start a standalone gateway',
  settings: 'api',
  examples: [
    'mx api --handler=proxy --backend greeter=127.0.0.1:9001,127.0.0.1:9002',
    'mx api --handler=web --address :8080 --config mx.yaml',
    'mx api check --config mx.yaml',
    "mx api explain GET /greeter/hello -H 'Host: example.com'",
    'mx api explain GET /helloworld/call --server',
  ],
  arrange: wordsFirst,
  summaries: {
    check: 'Validate the configuration without starting the gateway',
    schema: 'Print the JSON Schema of mx.yaml, for editors',
    explain: 'Explain how the gateway would handle a request, without sending it',
  },
  rawSubcommands: {
    'check [-o <format>]': async (args) => (await import('../api/check.ts')).runCheck(args),
    schema: async (args) => (await import('../api/schema.ts')).runSchema(args),
    'explain [METHOD] <path> [-H "name: value"] [-d <body>] [--server]': async (args) =>
      (await import('../api/explain.ts')).runExplain(args),
  },
  async runRaw(args) {
    checkWord(wordsFirst(args)[0])
    const { runApi } = await import('../../platform/gateway/run.ts')
    await runApi(args, process.env)
    inlineMore()
    collectSooner()
  },
})

export default command

function wordsFirst(args: readonly string[]): readonly string[] {
  const { words, flags } = separateFlags(args)
  return [...words, ...flags]
}

/** @throws {CliError} for a misspelt subcommand; the platform rejects any other argument */
function checkWord(word: string | undefined): void {
  if (word === undefined || word.startsWith('-')) return
  const similar = suggest(word, ['check', 'explain', 'schema'])
  if (similar !== undefined)
    throw usageError('api', `Unrecognized subcommand for mx api: ${word}, did you mean ${similar}?`)
}
