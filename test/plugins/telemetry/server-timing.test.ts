import t from 'tap'
import type { Exchange } from '../../../core/exchange.ts'
import plugin from '../../../plugins/telemetry/server-timing.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

/** Responds like a handler whose backend took 4.5 ms. */
function response(x: Exchange): void {
  x.upstreamStartMs = x.startMs
  x.upstreamReplyMs = x.startMs + 4.5
  x.reply(200, 'ok', ['server-timing', 'db;dur=3'])
}

t.test('reports the time of gateway and backend after the metrics of the backend', async (t) => {
  const { headers } = await runPlugin(buildPlugin(plugin), {}, { handle: response })
  const [original, added] = headers.getAll('server-timing')
  t.equal(original, 'db;dur=3')
  t.match(added, /^gateway;dur=-?\d+\.\d{3}, upstream;dur=4\.500$/)
})

t.test('reports no upstream time for a response of the gateway', async (t) => {
  const { headers } = await runPlugin(buildPlugin(plugin))
  t.match(headers.get('server-timing'), /^gateway;dur=\d+\.\d{3}$/)
})

t.test('sends the header only to clients in the listed ranges', async (t) => {
  const built = buildPlugin(plugin, { clients: ['10.0.0.0/8', 'loopback'] })
  const hasTiming = async (remoteAddress: string) =>
    (await runPlugin(built, { remoteAddress })).headers.has('server-timing')
  t.ok(await hasTiming('10.1.2.3'))
  t.ok(await hasTiming('::1'))
  t.notOk(await hasTiming('192.0.2.1'))
  t.notOk(await hasTiming(''))
  t.throws(
    () => buildPlugin(plugin, { clients: ['10.0.0.0/33'] }),
    /plugin "server-timing": clients must be address ranges/,
  )
})
