import type { CAC } from 'cac'
import { collectSooner } from '../../lib/process/collect-sooner.ts'
import { inlineMore } from '../../lib/process/inline-more.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { splitWords } from '../api/extract-flags.ts'
import { addFlags } from '../args/flags.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Adds `mx api`: the gateway alone. */
export async function registerApi(cli: CAC): Promise<void> {
  const command = cli
    .command('api [...words]', 'Start the gateway alone')
    .usage(
      'api [check | explain [METHOD] <path> [-H "name: value"] [-d <body>] [--server]] [flags]',
    )
    .example((bin) => `  ${bin} api --backend greeter=127.0.0.1:9001,127.0.0.1:9002`)
    .example((bin) => `  ${bin} api --handler=web --address :8080 --config mx.yaml`)
    .example((bin) => `  ${bin} api check --config mx.yaml`)
    .example((bin) => `  ${bin} api explain GET /greeter/hello -H 'Host: example.com'`)
    .example((bin) => `  ${bin} api explain GET /helloworld/call --server`)
    // The flags are read by the platform, from the words as they were typed.
    .allowUnknownOptions()
    .action(async () => {
      const { words, flags } = splitWords(cli.rawArgs.slice(3))
      const [first, ...more] = words
      const rest = [...more, ...flags]
      if (first === 'check') return (await import('../api/check.ts')).runCheck(rest)
      if (first === 'explain') return (await import('../api/explain.ts')).runExplain(rest)
      checkWord(first)
      const { runApi } = await import('../../platform/gateway/run.ts')
      await runApi(cli.rawArgs.slice(3), process.env)
      inlineMore()
      collectSooner()
    })
  await addFlags(cli, command, 'api')
}

/** What else is wrong with the words is told by who reads the flags. @throws {CliError} */
function checkWord(first: string | undefined): void {
  const meant = first === undefined ? undefined : suggest(first, ['check', 'explain'])
  if (meant === undefined) return
  const message = `Unrecognized subcommand for mx api: ${first}, did you mean ${meant}? See 'mx api --help'`
  throw new CliError(message, { status: EXIT.usage })
}
