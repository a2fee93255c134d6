import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { bodyMemory, rejectBody, toMaxBytes } from '../../../core/limits/memory-budget.ts'
import { createGreeter } from '../../fixtures/greeter.ts'
import { openMxService } from '../../fixtures/mx-service.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { RawClient } from '../../fixtures/raw-client.ts'
import { openRpcGateway } from '../../fixtures/rpc-gateway.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }

/** Limits the body memory of this process until the test ends. */
function allow(t: Test, bytes: number): void {
  const { maxBytes } = bodyMemory
  bodyMemory.maxBytes = bytes
  t.teardown(() => {
    bodyMemory.maxBytes = maxBytes
  })
}

t.test('the budget is a sixteenth of the memory, between 32 and 256 MiB', async (t) => {
  t.equal(toMaxBytes(0, 1024 * MIB), 64 * MIB)
  t.equal(toMaxBytes(2 ** 53, 1024 * MIB), 64 * MIB, 'no container limit')
  t.equal(toMaxBytes(1600 * MIB, 65536 * MIB), 100 * MIB)
  t.equal(toMaxBytes(0, 128 * MIB), 32 * MIB)
  t.equal(toMaxBytes(0, 65536 * MIB), 256 * MIB)
  t.ok(bodyMemory.maxBytes >= 32 * MIB)
  t.strictSame(rejectBody('app').toBody().Code, 503)
})

for (const path of ['/greeter/hello', '/rpc']) {
  t.test(`${path}: beyond the budget of buffered bytes rejects the largest body`, async (t) => {
    const service = await openMxService(t, createGreeter())
    const { origin, port, gateway } = await openRpcGateway(t, [service.entry])
    const fields = { service: 'go.mx.api.greeter', method: 'Greeter.Hello', request: { name: 'a' } }
    const body = JSON.stringify(path === '/rpc' ? fields : fields.request)
    const post = () => fetch(origin + path, { method: 'POST', headers: JSON_TYPE, body })
    allow(t, 1000)
    const slow = new RawClient(port)
    const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`
    slow.send(`${head}content-length: 2000\r\n\r\n${' '.repeat(990)}`)
    await waitUntil(() => bodyMemory.usedBytes === 990)

    t.equal((await post()).status, 200, 'a smaller body evicts the largest one')
    await slow.waitUntil(({ closed }) => closed)
    t.match(slow.text, /^HTTP\/1\.1 413 .*max_buffered/s)
    t.equal(bodyMemory.usedBytes, 0, 'both requests ended')

    const large = new RawClient(port)
    large.send(`${head}content-length: 2000\r\n\r\n${' '.repeat(20)}`)
    await waitUntil(() => bodyMemory.usedBytes === 20)
    large.send(' '.repeat(990))
    await large.waitUntil(({ closed }) => closed)
    t.match(
      large.text,
      /^HTTP\/1\.1 503 .*retry-after: 1.*request bodies/s,
      'a body larger than the budget is rejected',
    )
    t.equal(bodyMemory.usedBytes, 0)
    t.equal(
      (await fetch(`${origin}/greeter/hello?name=a`)).status,
      200,
      'a request without a body is not limited',
    )

    const otherClient = new RawClient(port).send(
      `${head}content-length: 2000\r\n\r\n${' '.repeat(100)}`,
    )
    await waitUntil(() => bodyMemory.usedBytes === 100)
    otherClient.socket.destroy()
    await waitUntil(() => bodyMemory.usedBytes === 0)
    t.equal(gateway.inFlight, 0)
  })
}

for (const path of ['/greeter/hello', '/rpc']) {
  t.test(
    `${path}: a body that arrives byte by byte uses less than 10 MiB for 300 kB`,
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
      await waitUntil(() => bodyMemory.usedBytes === bytes)
      const growth = memory() - before
      t.ok(growth < 10 * MIB, `${growth} bytes`)
      slow.socket.destroy()
      await waitUntil(() => bodyMemory.usedBytes === 0)
    },
  )
}

t.test(
  'HTTP transport: rejects a request over the body memory of a service with 503',
  async (t) => {
    const { port } = await openMxService(t, createGreeter(), { protocol: 'http' })
    const headers = {
      ...JSON_TYPE,
      'mx-service': 'go.mx.api.greeter',
      'mx-endpoint': 'Greeter.Hello',
    }
    const post = (name: string) =>
      fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ name }),
      })
    allow(t, 100)
    const rejected = await post('x'.repeat(100))
    t.equal(rejected.status, 503)
    t.match(await rejected.json(), { Code: 503, Detail: /request bodies/ })
    t.equal((await post('a')).status, 200)
    t.equal(bodyMemory.usedBytes, 0)
  },
)
