import { setImmediate as nextTick } from 'node:timers/promises'
import t from 'tap'
import plugin from '../../../plugins/http/body-limit.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

t.test('responds immediately with 413 to a Content-Length above the limit', async (t) => {
  const { status, body, forwarded } = await runPlugin(buildPlugin(plugin, { limit: 4 }), {
    method: 'POST',
    body: 'hello',
  })
  t.equal(status, 413)
  t.notOk(forwarded)
  t.same(JSON.parse(body), {
    Id: 'go.mx.api',
    Code: 413,
    Detail: 'request body exceeds the limit of 4 bytes',
    Status: 'Payload Too Large',
  })
})

t.test('responds with 413 when a body of unknown length exceeds the limit', async (t) => {
  const { status } = await runPlugin(
    buildPlugin(plugin, { limit: '4b' }),
    { method: 'POST', body: 'hello', chunked: true },
    { handle: (x) => x.readBody().then((bytes) => x.reply(200, bytes)) },
  )
  t.equal(status, 413)
})

t.test('responds with 413 to a body that arrived while an earlier plugin waited', async (t) => {
  const pending = { name: 'waiting', onRequest: () => nextTick() }
  const { status, forwarded } = await runPlugin([pending, buildPlugin(plugin, { limit: 4 })], {
    method: 'POST',
    body: 'hello',
    chunked: true,
  })
  t.equal(status, 413)
  t.notOk(forwarded)
})

t.test('passes a body of exactly the limit', async (t) => {
  const { status, body } = await runPlugin(
    buildPlugin(plugin, { limit: '5' }),
    { method: 'POST', body: 'hello' },
    { handle: (x) => x.readBody().then((bytes) => x.reply(200, bytes)) },
  )
  t.equal(status, 200)
  t.equal(body, 'hello')
})

t.test('has no hook without a limit', async (t) => {
  t.same(Object.keys(buildPlugin(plugin)), ['name'])
  t.same(Object.keys(buildPlugin(plugin, { limit: 'none' })), ['name'])
})

t.test('rejects an invalid limit', async (t) => {
  t.throws(() => buildPlugin(plugin, { limit: '10 elephants' }), {
    message: /^plugin "body-limit": limit must be a size such as .* got "10 elephants"$/,
  })
  t.throws(() => buildPlugin(plugin, { limit: -1 }), /option "limit" must be/)
})
