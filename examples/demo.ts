// `npm run demo`, while `npm start` runs: a service and two plain backends, to look at and to try out.
import { openRegistry } from '../sdk/open-registry.ts'
import { register } from '../sdk/registration.ts'
import { obeySignals } from '../sdk/signals.ts'
import { startBackend } from './backend.ts'
import { toPlainService } from './plain-service.ts'

process.env['MX_PROXY'] ??= '127.0.0.1:8081'
const proxy = process.env['MX_PROXY']
const url = process.argv[2] ?? 'http://127.0.0.1:8080'

const hints = `
  Try it in another terminal:

    curl '${url}/helloworld/call?name=John'   # a call of a service
    curl '${url}/helloworld/stream?count=3'   # one that streams
    curl ${url}/greeter/hello                 # proxied to a backend
    curl ${url}/greeter/hello                 # the other one answers
    curl ${url}/registry/listServices         # who is there
    curl -i ${url}/nobody/call                # an error and its body

  Services that run with MX_PROXY=${proxy} join them. Ctrl-C ends it.

`

try {
  // Alone the service would wait for it, and say so in a log that nobody expects yet.
  await fetch(url, { signal: AbortSignal.timeout(5000) })
} catch {
  process.stderr.write(`Nothing answers at ${url}: run npm start in another terminal first.\n`)
  process.exit(1)
}
const { helloworld } = await import('./helloworld/helloworld.ts')
await helloworld.run()
const { log } = helloworld
const backends = await Promise.all([startBackend('one', 9001), startBackend('two', 9002)])
const { registry, close } = openRegistry(`mx://${proxy}`)
const entry = toPlainService('greeter', backends)
const registration = await register({ registry, entry, log })
obeySignals({
  async stop() {
    await registration.end()
    await Promise.all(backends.map((backend) => backend.close()))
    await close()
  },
  log,
})
process.stderr.write(hints)
