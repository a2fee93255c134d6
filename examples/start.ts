// `npm start`: a registry, a service and two plain backends in it, and the gateway in front of them, to look at and to try out.
import cluster from 'node:cluster'
import { EXIT, printProblems } from '../cli/output.ts'
import { runApi } from '../platform/run-api.ts'
import { readFlags } from '../platform/settings-flags.ts'
import { SettingsError } from '../platform/settings-sources.ts'
import { formatAddress } from '../platform/settings-values.ts'
import { startBackend } from './backend.ts'
import { startRegistry, toPlainService } from './registry.ts'

const toHints = (url: string, registry: string): string => `
  Try it in another terminal:

    curl '${url}/helloworld/call?name=John'   # a call of a service
    curl ${url}/greeter/hello                 # proxied to a backend
    curl ${url}/greeter/hello                 # the other one answers
    curl ${url}/registry/listServices         # who is there
    curl -i ${url}/nobody/call                # an error and its body

  Services that run with MX_REGISTRY=${registry} join them. Ctrl-C ends it.

`

try {
  const flags = readFlags(process.argv.slice(2))
  if (cluster.isPrimary) {
    const { url, registry } = await startRegistry(8081)
    // Through the environment, so that workers (`npm start -- --workers=2`) find it too.
    process.env['MX_REGISTRY'] = url
    process.env['MX_NAMESPACE'] ??= ' '
    const { helloworld } = await import('./helloworld/helloworld.ts')
    await helloworld.start()
    const backends = await Promise.all([startBackend('one', 9001), startBackend('two', 9002)])
    await registry.register?.(toPlainService('greeter', backends))
  }
  const address = await runApi(flags, process.env)
  const url = `http://${formatAddress(address)}`
  if (cluster.isPrimary) process.stderr.write(toHints(url, process.env['MX_REGISTRY'] ?? ''))
} catch (error) {
  printProblems(error instanceof SettingsError ? error.problems : [(error as Error).message])
  process.exit(error instanceof SettingsError ? EXIT.usage : EXIT.failed)
}
