import t from 'tap'
import plugin from '../../../plugins/http/headers.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

t.test('removes, sets and appends request headers before the request goes upstream', async (t) => {
  const built = buildPlugin(plugin, {
    request: { remove: ['X-Debug'], set: { 'X-Team': 'a' }, append: { Accept: 'text/html' } },
  })
  const { x } = await runPlugin(built, {
    headers: { 'x-debug': ['1', '2'], 'x-team': ['b', 'c'], accept: '*/*', 'x-other': 'k' },
  })
  t.same(x.headers.flat, ['accept', '*/*', 'x-other', 'k', 'x-team', 'a', 'accept', 'text/html'])
})

t.test('removes, sets and appends response headers, including on errors', async (t) => {
  const built = buildPlugin(plugin, {
    reply: { remove: ['server'], set: { 'x-frame-options': 'DENY' } },
  })
  const { headers } = await runPlugin(
    built,
    {},
    { reply: { headers: { Server: 'nginx', 'X-Frame-Options': 'ALLOW' } } },
  )
  t.same(headers.flat, ['x-frame-options', 'DENY'])
  const failed = await runPlugin(
    built,
    {},
    {
      handle: () => {
        throw new Error('fault')
      },
    },
  )
  t.equal(failed.status, 500)
  t.equal(failed.headers.get('x-frame-options'), 'DENY')
})

t.test('has no hook without changes', async (t) => {
  t.same(Object.keys(buildPlugin(plugin)), ['name'])
  t.same(Object.keys(buildPlugin(plugin, { reply: { remove: ['server'] } })).sort(), [
    'name',
    'onReply',
  ])
})

t.test('rejects malformed names and values at startup', async (t) => {
  t.throws(
    () => buildPlugin(plugin, { request: { set: { 'a b': '1' } } }),
    /plugin "headers": request: header name must be a token/,
  )
  t.throws(
    () => buildPlugin(plugin, { reply: { append: { a: '1\r\nset-cookie: x' } } }),
    /reply: header a must not contain control/,
  )
  t.throws(() => buildPlugin(plugin, { reply: { remove: [''] } }), /header name must be a token/)
  t.throws(() => buildPlugin(plugin, { reply: { sett: {} } }), /unknown option "reply.sett"/)
  t.throws(
    () => buildPlugin(plugin, { reply: { set: { a: 1 } } }),
    /option "reply.set.a" must be string, got 1/,
  )
})

t.test('rejects changes of headers for framing and routing', async (t) => {
  for (const name of ['Content-Length', 'Transfer-Encoding', 'Connection', 'Host', 'Upgrade']) {
    t.throws(
      () => buildPlugin(plugin, { request: { set: { [name]: '1' } } }),
      /the gateway manages the header/,
      name,
    )
    t.throws(
      () => buildPlugin(plugin, { reply: { remove: [name] } }),
      /the gateway manages the header/,
      name,
    )
  }
})
