import { request } from 'node:http'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import t from 'tap'
import { bodyMemory } from '../../../core/limits/memory-budget.ts'
import bodyLimit from '../../../plugins/http/body-limit.ts'
import { buildPlugin } from '../../../sdk/testing.ts'
import { LISTENERS } from '../../fixtures/gateway.ts'
import { openGreeterGateway } from '../../fixtures/greeter-gateway.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

const PATH = '/greeter/greeter/hello'
const JOHN = JSON.stringify({ name: 'John' })
const { zstdCompress } = zlib as { readonly zstdCompress?: (body: string, done: never) => void }

const ENCODERS: Record<string, (body: string) => Promise<Buffer>> = {
  gzip: promisify<string, Buffer>(zlib.gzip),
  'X-GZip': promisify<string, Buffer>(zlib.gzip),
  deflate: promisify<string, Buffer>(zlib.deflate),
  br: promisify<string, Buffer>(zlib.brotliCompress),
  ...(zstdCompress === undefined
    ? {}
    : { zstd: promisify(zstdCompress) as unknown as (body: string) => Promise<Buffer> }),
}

async function post(origin: string, body: Uint8Array, coding: string, path = PATH) {
  const headers = { 'content-type': 'application/json', 'content-encoding': coding }
  const reply = await fetch(`${origin}${path}`, {
    method: 'POST',
    body: new Uint8Array(body),
    headers,
  })
  const json = (await reply.json()) as { message?: string; Detail?: string }
  return { status: reply.status, headers: reply.headers, json }
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(`${name}: calls with an encoded body pass the decoded one on`, async (t) => {
    const { origin } = await openGreeterGateway(t, { listener })
    for (const [coding, encode] of Object.entries(ENCODERS)) {
      const { status, json } = await post(origin, await encode(JOHN), coding)
      t.strictSame([status, json], [200, { message: 'Hello John' }], coding)
      const call = {
        service: 'go.mx.api.greeter',
        method: 'Greeter.Hello',
        request: { name: 'Jo' },
      }
      const explicit = await post(origin, await encode(JSON.stringify(call)), coding, '/rpc')
      t.strictSame(
        [explicit.status, explicit.json],
        [200, { message: 'Hello Jo' }],
        `/rpc ${coding}`,
      )
    }
    t.equal(bodyMemory.usedBytes, 0)
  })
}

t.test('an unsupported coding is rejected with 415 and the supported ones', async (t) => {
  const { origin } = await openGreeterGateway(t)
  for (const coding of ['compress', 'gzip, br', 'x'.repeat(5000)]) {
    const { status, headers, json } = await post(origin, zlib.gzipSync(JOHN), coding)
    t.equal(status, 415)
    t.match(headers.get('accept-encoding'), /^gzip, deflate, br/)
    t.match(json.Detail, /^content coding must be one of gzip, deflate, br.*, got ".{2,66}"$/)
  }
})

t.test('a malformed or incomplete body is rejected with 400', async (t) => {
  const { origin, log } = await openGreeterGateway(t)
  const whole = zlib.gzipSync(JOHN)
  for (const body of [Buffer.from(JOHN), whole.subarray(0, -4), Buffer.from([0x1f, 0x8b])]) {
    const { status, json } = await post(origin, body, 'gzip')
    t.equal(status, 400)
    t.match(json.Detail, /^request body must be valid gzip: /)
  }
  t.strictSame(log.aborted, [])
  t.equal(bodyMemory.usedBytes, 0)
})

t.test('a body that expands more than 200 times is rejected with 413', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const bomb = zlib.gzipSync(JSON.stringify({ name: 'x'.repeat(8 * 1024 * 1024) }))
  t.ok(bomb.length < 10_000, 'a bomb')
  const { status, json } = await post(origin, bomb, 'gzip')
  t.strictSame([status, json.Detail], [413, 'request body must not expand more than 200 times'])
  const small = zlib.gzipSync(JSON.stringify({ name: 'x'.repeat(1_000_000) }))
  t.ok(small.length * 200 < 1_000_000, 'a high ratio')
  t.equal((await post(origin, small, 'gzip')).status, 200, 'up to 1 MiB, the ratio is not limited')
  await waitUntil(() => bodyMemory.usedBytes === 0)
})

t.test('body-limit applies to the decoded body', async (t) => {
  const plugin = await buildPlugin(bodyLimit, { limit: '1kb' })
  const { origin } = await openGreeterGateway(t, { plugins: [plugin] })
  const body = zlib.gzipSync(JSON.stringify({ name: 'x'.repeat(2000) }))
  const { status, json } = await post(origin, body, 'gzip')
  t.strictSame([status, json.Detail], [413, 'decoded request body must be at most 1024 bytes'])
})

t.test('a client that disconnects while its body arrives leaves nothing behind', async (t) => {
  const { origin, gateway } = await openGreeterGateway(t)
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const sent = request(`${origin}${PATH}`, { method: 'POST', headers })
  sent.on('error', () => {})
  sent.write(zlib.gzipSync(JOHN).subarray(0, 10))
  await waitUntil(() => gateway.exchanges[0]?.bytesIn === 10)
  sent.destroy()
  await waitUntil(() => gateway.exchanges[0]!.finished)
  await waitUntil(() => bodyMemory.usedBytes === 0)
  t.strictSame(gateway.faults, [])
})
