import t from 'tap'
import type { Client } from '../../../sdk/client/client.ts'
import { openClient } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

interface Nodes {
  readonly nodes: readonly { readonly service: string; readonly namespace: string }[]
}

t.test('members list the nodes of their namespace, and operators change them', async (t) => {
  const { proxy, get } = await openServer(t, ['--backend=site=127.0.0.1:1,127.0.0.1:2'])
  const admin = openClient(t, { proxy, auth: ADMIN, retries: 0 })
  const openAs = async (id: string, namespace: string): Promise<Client> => {
    const account = { id, secret: 'a long secret', options: { namespace } }
    await admin.call('auth', 'Auth.Generate', account)
    const { token } = await admin.call<{ token: { access_token: string } }>(
      'auth',
      'Auth.Token',
      account,
    )
    return openClient(t, { proxy, token: token.access_token, retries: 0 })
  }
  const [member, crossNamespace] = [await openAs('jane', 'mx'), await openAs('joe', 'acme')]
  const register = { name: 'cart', nodes: [{ id: 'c', address: '127.0.0.1:3' }] }
  await admin.call('registry', 'Registry.Register', { ...register, options: { domain: 'acme' } })
  await get('/cart/', { 'mx-namespace': 'acme' })
  const list = async (client: Client, request: object) =>
    (await client.call<Nodes>('api', 'Api.Nodes', request)).nodes

  const site = { namespace: 'mx', service: 'site', state: 'usable' }
  t.match(await list(member, { service: 'site' }), [site, site])
  const carts = await list(crossNamespace, { namespace: 'acme' })
  t.match(carts, [{ namespace: 'acme', service: 'cart', id: 'c' }])
  t.equal(carts.length, 1)
  await t.rejects(list(crossNamespace, {}), { code: 403 })
  await t.rejects(list(member, { namespace: 'acme' }), { code: 403 })
  t.match(await list(admin, { namespace: 'acme' }), carts)

  const node = { service: 'site', node: '127.0.0.1:1' }
  for (const endpoint of ['Api.Drain', 'Api.Restore']) {
    await t.rejects(member.call('api', endpoint, node), { code: 401 })
    await t.rejects(crossNamespace.call('api', endpoint, { ...node, namespace: 'acme' }), {
      code: 403,
    })
  }
  t.match(await admin.call('api', 'Api.Drain', node), { node: { state: 'drained' } })
  await t.rejects(admin.call('api', 'Api.Drain', { ...node, node: '127.0.0.1:2' }), {
    ...{ code: 409, id: 'api.Api.Drain' },
  })
  t.match(await admin.call('api', 'Api.Restore', node), { node: { state: 'usable' } })
  await t.rejects(admin.call('api', 'Api.Drain', { ...node, node: 'x' }), { code: 404 })
})
