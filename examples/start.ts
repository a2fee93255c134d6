// `npm start`: two backends and the gateway in front of them, to look at and to try out.
import cluster from 'node:cluster'
import { EXIT, printProblems } from '../cli/output.ts'
import { runApi } from '../platform/run-api.ts'
import { readFlags } from '../platform/settings-flags.ts'
import { SettingsError } from '../platform/settings-sources.ts'
import { formatAddress } from '../platform/settings-values.ts'
import { startBackend } from './backend.ts'

const HINTS = `
  Try it in another terminal:

    curl URL/greeter/hello
    curl URL/greeter/hello      # the other backend answers
    curl -i URL/nobody          # an error and its body

  Ctrl-C ends it.

`

try {
  const flags = readFlags(process.argv.slice(2))
  if (cluster.isPrimary) {
    const backends = await Promise.all([startBackend('one', 9001), startBackend('two', 9002)])
    const nodes = backends.map(({ port }) => `127.0.0.1:${port}`).join(',')
    // Through the environment, so that workers (`npm start -- --workers=2`) know them too.
    process.env['MX_BACKEND'] = `greeter=${nodes}`
    process.env['MX_API_HANDLER'] ??= 'proxy'
  }
  const address = await runApi(flags, process.env)
  const url = `http://${formatAddress(address)}`
  if (cluster.isPrimary) process.stderr.write(HINTS.replaceAll('URL', url))
} catch (error) {
  printProblems(error instanceof SettingsError ? error.problems : [(error as Error).message])
  process.exit(error instanceof SettingsError ? EXIT.usage : EXIT.failed)
}
