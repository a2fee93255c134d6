// Run with `npm run demo` while `npm start` runs: registers a service and two plain HTTP backends to try the server.
import { openRegistry, register } from 'mx-gateway/registry'
import { startBackend } from './backend.ts'
import { toPlainService } from './plain-service.ts'

process.env['MX_PROXY'] ??= '127.0.0.1:8081'
const proxy = process.env['MX_PROXY']
const url = process.argv[2] ?? 'http://127.0.0.1:8080'

const hints = `
  Try it in another terminal:

    curl '${url}/helloworld/call?name=John'   # a call to a service
    curl '${url}/helloworld/stream?count=3'   # a streaming call
    curl ${url}/greeter/hello                 # proxied to a backend
    curl ${url}/greeter/hello                 # the next request goes to the other backend
    curl -i ${url}/unknown/call               # an error and its body

  Services started with MX_PROXY=${proxy} join the same server. Ctrl-C ends the demo.

`

try {
  // Without a server, the service would only log warnings and retry.
  await fetch(url, { signal: AbortSignal.timeout(5000) })
} catch {
  process.stderr.write(`No server at ${url}. Run "npm start" in another terminal first.\n`)
  process.exit(1)
}
const { helloworld } = await import('./helloworld/helloworld.ts')
await helloworld.run({ signals: false })
const { log } = helloworld
const backends = await Promise.all([startBackend('one', 9001), startBackend('two', 9002)])
// Shares the registry connection and the credentials with the service.
const { registry, close } = openRegistry(`mx://${proxy}`)
const entry = toPlainService('greeter', backends)
const registration = await register({ registry, entry, log })

let isStopping = false
async function stop(): Promise<void> {
  // npm forwards the SIGINT that the terminal has already sent.
  if (isStopping) return
  isStopping = true
  await registration.end()
  await Promise.all(backends.map((backend) => backend.close()))
  await close()
  await helloworld.stop()
  process.exit(0)
}
process.on('SIGINT', stop).on('SIGTERM', stop)
process.stderr.write(hints)
