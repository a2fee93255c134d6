import t from 'tap'
import plugin from '../../../plugins/telemetry/request-id.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

t.test('assigns an id to a request without one and sends it to backend and client', async (t) => {
  const { x, headers } = await runPlugin(buildPlugin(plugin))
  t.match(x.id, /^[\w-]{12}$/)
  t.same(x.headers.getAll('x-request-id'), [x.id])
  t.same(headers.getAll('x-request-id'), [x.id])
})

t.test('assigns unique ids across batches of random bytes', async (t) => {
  const built = buildPlugin(plugin)
  const ids = new Set<string>()
  for (let i = 0; i < 9000; i++) {
    const { x } = await runPlugin(built)
    ids.add(x.id)
  }
  t.equal(ids.size, 9000)
})

t.test('accepts a well-formed id of the client', async (t) => {
  for (const id of [
    'a',
    'f47ac10b-58cc-4372-a567-0e02b2c3d479',
    '1-67891233:abc/def.x_y~z@h+q=',
    'x'.repeat(128),
  ]) {
    const { x, headers } = await runPlugin(buildPlugin(plugin), { headers: { 'X-Request-Id': id } })
    t.equal(x.id, id)
    t.same(x.headers.getAll('x-request-id'), [id])
    t.equal(headers.get('x-request-id'), id)
  }
})

t.test('replaces an id that is empty, too long or contains other characters', async (t) => {
  for (const id of ['', 'a b', 'a"b', 'a;b', '<script>', 'x'.repeat(129), '\xe4', 'a\tb']) {
    const { x } = await runPlugin(buildPlugin(plugin), { headers: { 'x-request-id': id } })
    t.match(x.id, /^[\w-]{12}$/, JSON.stringify(id))
    t.same(x.headers.getAll('x-request-id'), [x.id])
  }
})

t.test('uses the first of several ids and forwards only that one', async (t) => {
  const { x } = await runPlugin(buildPlugin(plugin), {
    headers: { 'x-request-id': ['abc', 'def'] },
  })
  t.equal(x.id, 'abc')
  t.same(x.headers.getAll('x-request-id'), ['abc'])
})

t.test('replaces every id if trust is off', async (t) => {
  const { x } = await runPlugin(buildPlugin(plugin, { trust: false }), {
    headers: { 'x-request-id': ['abc', 'def'] },
  })
  t.match(x.id, /^[\w-]{12}$/)
  t.same(x.headers.getAll('x-request-id'), [x.id])
})

t.test('replaces the id in the response of a backend', async (t) => {
  const reply = { headers: { 'X-Request-Id': ['theirs', 'again'] } }
  const { x, headers } = await runPlugin(buildPlugin(plugin), {}, { reply })
  t.same(headers.getAll('x-request-id'), [x.id])
})

t.test('uses the configured header name', async (t) => {
  const { x, headers } = await runPlugin(buildPlugin(plugin, { header: 'X-Trace' }))
  t.equal(headers.get('x-trace'), x.id)
  t.throws(
    () => buildPlugin(plugin, { header: 'not a name' }),
    /plugin "request-id": header name must be a token/,
  )
})
