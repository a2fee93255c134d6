import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { bodyMemory, rejectBody, toMaxBytes } from '../../../core/limits/memory-budget.ts'
import { createGreeter } from '../../fixtures/greeter.ts'
import { openMxService } from '../../fixtures/mx-service.ts'
import { until } from '../../fixtures/raw-backend.ts'
import { RawClient } from '../../fixtures/raw-client.ts'
import { openRpcGateway } from '../../fixtures/rpc-gateway.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }

/** Room for so many bytes in this process, until the test is over. */
function allow(t: Test, bytes: number): void {
  const { maxBytes } = bodyMemory
  bodyMemory.maxBytes = bytes
  t.teardown(() => {
    bodyMemory.maxBytes = maxBytes
  })
}

t.test('a sixteenth of the memory there is, from 32 to 256 MiB', async (t) => {
  t.equal(toMaxBytes(0, 1024 * MIB), 64 * MIB)
  t.equal(toMaxBytes(2 ** 53, 1024 * MIB), 64 * MIB, 'no limit of the container')
  t.equal(toMaxBytes(1600 * MIB, 65536 * MIB), 100 * MIB)
  t.equal(toMaxBytes(0, 128 * MIB), 32 * MIB)
  t.equal(toMaxBytes(0, 65536 * MIB), 256 * MIB)
  t.ok(bodyMemory.maxBytes >= 32 * MIB)
  t.strictSame(rejectBody('app').toBody().Code, 503)
})

for (const path of ['/greeter/hello', '/rpc']) {
  t.test(`${path}: beyond the budget of buffered bytes the largest body is rejected`, async (t) => {
    const service = await openMxService(t, createGreeter())
    const { origin, port, gateway } = await openRpcGateway(t, [service.entry])
    const fields = { service: 'go.mx.api.greeter', method: 'Greeter.Hello', request: { name: 'a' } }
    const body = JSON.stringify(path === '/rpc' ? fields : fields.request)
    const post = () => fetch(origin + path, { method: 'POST', headers: JSON_TYPE, body })
    allow(t, 1000)
    const slow = new RawClient(port)
    const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`
    slow.send(`${head}content-length: 2000\r\n\r\n${' '.repeat(990)}`)
    await until(() => bodyMemory.usedBytes === 990)

    t.equal((await post()).status, 200, 'a smaller one takes the place of the largest')
    await slow.until(({ closed }) => closed)
    t.match(slow.text, /^HTTP\/1\.1 413 .*max_buffered/s)
    t.equal(bodyMemory.usedBytes, 0, 'both are over')

    const large = new RawClient(port)
    large.send(`${head}content-length: 2000\r\n\r\n${' '.repeat(20)}`)
    await until(() => bodyMemory.usedBytes === 20)
    large.send(' '.repeat(990))
    await large.until(({ closed }) => closed)
    t.match(large.text, /^HTTP\/1\.1 503 .*retry-after: 1.*request bodies/s, 'none outgrows it')
    t.equal(bodyMemory.usedBytes, 0)
    t.equal((await fetch(`${origin}/greeter/hello?name=a`)).status, 200, 'no body needs no room')

    const left = new RawClient(port).send(`${head}content-length: 2000\r\n\r\n${' '.repeat(100)}`)
    await until(() => bodyMemory.usedBytes === 100)
    left.socket.destroy()
    await until(() => bodyMemory.usedBytes === 0)
    t.equal(gateway.inFlight, 0)
  })
}

for (const path of ['/greeter/hello', '/rpc']) {
  t.test(
    `${path}: a body that comes byte by byte takes no more memory than its bytes`,
    async (t) => {
      const service = await openMxService(t, createGreeter())
      const { port } = await openRpcGateway(t, [service.entry])
      const bytes = 300_000
      const memory = (): number => {
        collectGarbage()
        const { heapUsed, arrayBuffers } = process.memoryUsage()
        return heapUsed + arrayBuffers
      }
      const before = memory()
      const slow = new RawClient(port)
      slow.send(`POST ${path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`)
      for (let i = 0; i < bytes; i += 10_000) slow.send('1\r\n \r\n'.repeat(10_000))
      await until(() => bodyMemory.usedBytes === bytes)
      const taken = memory() - before
      t.ok(taken < 10 * MIB, `${taken} bytes`)
      slow.socket.destroy()
      await until(() => bodyMemory.usedBytes === 0)
    },
  )
}

t.test('a service that speaks the plain form has the same bound', async (t) => {
  const { port } = await openMxService(t, createGreeter(), { protocol: 'http' })
  const headers = {
    ...JSON_TYPE,
    'mx-service': 'go.mx.api.greeter',
    'mx-endpoint': 'Greeter.Hello',
  }
  const post = (name: string) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: JSON.stringify({ name }) })
  allow(t, 100)
  const refused = await post('x'.repeat(100))
  t.equal(refused.status, 503)
  t.match(await refused.json(), { Code: 503, Detail: /request bodies/ })
  t.equal((await post('a')).status, 200)
  t.equal(bodyMemory.usedBytes, 0)
})
