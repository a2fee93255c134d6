import t from 'tap'
import { createAdminNodeEndpoints } from '../../../platform/admin/node-endpoints.ts'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'

const TOKEN = 'a long enough token'

t.test('lists nodes to all, and changes them with the admin token only', async (t) => {
  const services = 'services: { shop: ["127.0.0.1:1", "127.0.0.1:2"] }\n'
  const { gateway } = await openConfiguredGateway(t, services)
  const open = (token: string, isStarted = true) => {
    const handle = createAdminNodeEndpoints(token, () => (isStarted ? gateway.nodes : undefined))
    return async (method: string, url: string, authorization = `Bearer ${TOKEN}`) => {
      const request = { method, url, headers: { authorization } }
      const { status, text, headers } = await handle(request as never, url.split('?')[0]!)
      return { status, body: JSON.parse(text), headers }
    }
  }
  const send = open(TOKEN)
  t.match(await send('GET', '/nodes?service=shop', ''), {
    ...{ status: 200, body: { nodes: [{ state: 'usable' }, { state: 'usable' }] } },
  })
  const drain = '/nodes/drain?service=shop&node=127.0.0.1:1'
  t.match(await send('POST', drain, ''), { status: 401, headers: { 'www-authenticate': 'Bearer' } })
  t.match(await send('POST', drain, 'Bearer x'), { status: 401 })
  t.match(await open('')('POST', drain), { status: 404, body: { Detail: /set admin_token/ } })
  t.match(await open(TOKEN, false)('POST', drain), { status: 503 })
  t.match(await send('GET', drain), { status: 405, headers: { allow: 'POST' } })
  t.match(await send('POST', '/nodes'), { status: 405, headers: { allow: 'GET' } })
  t.match(await send('POST', '/nodes/x'), { status: 404 })
  t.match(await send('POST', '/nodes/drain?service=shop'), {
    status: 400,
    body: { Detail: /node/ },
  })
  t.match(await send('POST', drain), { status: 200, body: { node: { state: 'drained' } } })
  const other = '/nodes/drain?service=shop&node=127.0.0.1:2'
  t.match(await send('POST', other), { status: 409 })
  t.match(await send('POST', `${other}&force=true`), { status: 200 })
  t.match(await send('POST', '/nodes/restore?service=shop&node=127.0.0.1:2'), {
    ...{ status: 200, body: { node: { state: 'usable' } } },
  })
})
