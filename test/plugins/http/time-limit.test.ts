import t from 'tap'
import type { Exchange } from '../../../core/exchange.ts'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import plugin from '../../../plugins/http/time-limit.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { RawClient, statusCodes } from '../../fixtures/raw-client.ts'

t.test('responds with 504 to a request that exceeds the limit', async (t) => {
  const built = buildPlugin(plugin, { limit: '50ms' })
  t.teardown(() => built.close?.())
  const { status, body } = await runPlugin(
    built,
    {},
    { handle: (x) => waitUntil(() => x.finished) },
  )
  t.equal(status, 504)
  t.same(JSON.parse(body), {
    Id: 'test',
    Code: 504,
    Detail: 'request exceeded the time limit of 50ms',
    Status: 'Gateway Timeout',
  })
})

t.test(
  'sends nodes the remaining seconds on request, unless the client has a shorter timeout',
  async (t) => {
    const built = buildPlugin(plugin, { limit: '5500ms', header: true })
    t.teardown(() => built.close?.())
    for (const [sent, expected] of [
      [undefined, '5'],
      ['2', '2'],
      ['60', '5'],
      ['soon', '5'],
    ] as const) {
      const headers = sent === undefined ? {} : { 'request-timeout': sent }
      const handle = (x: Exchange) => x.reply(200, x.headers.get('request-timeout'))
      const { body } = await runPlugin(built, { headers }, { handle })
      t.equal(body, expected, sent ?? 'none')
    }
  },
)

t.test('passes a request that completes in time and releases it', async (t) => {
  const built = buildPlugin(plugin, { limit: '1d' })
  t.teardown(() => built.close?.())
  const { status } = await runPlugin(built, {}, { handle: (x) => x.reply(200, 'ok') })
  t.equal(status, 200)
})

for (const [name, create] of [
  ['uws', createUwsListener],
  ['node', createNodeListener],
] as const) {
  t.test(
    `${name}: closes the connection of a started response, and responds to a running upload`,
    async (t) => {
      const built = buildPlugin(plugin, { limit: '200ms' })
      t.teardown(() => built.close?.())
      const { port } = await openListener(
        t,
        create,
        async (x) => {
          if (x.method === 'POST') return void (await x.readBody())
          x.start(200, x.replyHeaders, -1)
          x.write(Buffer.from('begun'))
        },
        {},
        [built],
      )
      const started = new RawClient(port).send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
      const upload = new RawClient(port)
      upload.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
      await Promise.all([started.ended(), upload.ended()])
      t.match(started.text, /^HTTP\/1\.1 200 /)
      t.notMatch(started.text, /\r\n0\r\n\r\n$/)
      t.strictSame(statusCodes(upload.text), [504])
    },
  )
}

t.test('has no hook without a limit', async (t) => {
  t.same(Object.keys(buildPlugin(plugin)), ['name'])
  t.throws(() => buildPlugin(plugin, { limit: 'for ever' }), /limit must be a duration/)
})
