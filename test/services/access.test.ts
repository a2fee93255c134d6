// Reference 2.2 and 15.15: authorization of built-in services in addition to the rules, which by default allow all
// callers.
import t from 'tap'
import type { Client } from '../../sdk/client/client.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../fixtures/server.ts'

t.setTimeout(120_000)

const NODE = { name: 'a', nodes: [{ id: 'a', address: '127.0.0.1:1' }] }
const RECORD = { record: { key: 'a', value: '' } }

/** Required caller, endpoint and request: anonymous, member of the namespace or administrator. */
const ENDPOINTS: readonly (readonly ['anonymous' | 'member' | 'admin', string, object?])[] = [
  ['anonymous', 'registry.Registry.ListServices'],
  ['anonymous', 'registry.Registry.GetService', { service: 'store' }],
  ['admin', 'registry.Registry.ListServices', { options: { domain: '*' } }],
  ['admin', 'registry.Registry.Register', NODE],
  ['admin', 'registry.Registry.Deregister', NODE],
  ['admin', 'store.Store.Write', RECORD],
  ['admin', 'store.Store.Read', { key: 'a' }],
  ['admin', 'store.Store.Delete', { key: 'a' }],
  ['admin', 'store.Store.Databases'],
  ['admin', 'store.Store.Tables'],
  ['admin', 'store.BlobStore.List'],
  ['admin', 'store.BlobStore.Delete', { key: 'a' }],
  ['admin', 'config.Config.Set', { path: 'a', value: { data: '1' } }],
  ['admin', 'config.Config.Get', { path: 'a' }],
  ['admin', 'config.Config.List'],
  ['admin', 'config.Config.Delete', { path: 'a' }],
  ['admin', 'events.Stream.Publish', { topic: 'a', payload: '' }],
  ['admin', 'events.Stream.Topics'],
  ['admin', 'events.Store.Read', { topic: 'a' }],
  ['member', 'broker.Broker.Publish', { topic: 'a', message: { header: {}, body: '' } }],
  ['admin', 'broker.Broker.Stats'],
  ['anonymous', 'network.Network.Graph'],
  ['anonymous', 'network.Network.Nodes'],
  ['anonymous', 'network.Network.Status'],
  ['admin', 'network.Network.Routes'],
  ['admin', 'network.Network.Services'],
  ['member', 'api.Api.Routes'],
  ['member', 'api.Api.Nodes'],
  ['admin', 'api.Api.ConfiguredRoutes'],
  ['admin', 'api.Api.Plugins'],
  ['admin', 'api.Api.Requests'],
  ['admin', 'api.Api.Explain', { path: '/' }],
  ['admin', 'api.Api.Config'],
  ['admin', 'api.Api.History'],
  ['admin', 'api.Api.Diff', { text: 'log_level: error' }],
]

/** Endpoints that only administrators may call. Services may also call the other endpoints marked `admin`. */
const ADMIN_ONLY =
  /ListServices|Databases|Tables|Config\.(Set|Delete)|Stats|Routes|Services|Plugins|Requests|Explain|Api\.(Config|History|Diff)/

/** Returns "served" or the error of a call. */
async function sendRequest(client: Client, name: string, request: object): Promise<string> {
  const [service, handler, method] = name.split('.') as [string, string, string]
  try {
    await client.call(service, `${handler}.${method}`, request)
    return 'served'
  } catch (error) {
    const { id, code, message } = error as { id: string; code: number; message: string }
    return id === name ? `${code} ${message}` : `${code} ${id}: ${message}`
  }
}

t.test(
  'built-in services require an account, a namespace and a scope even if the rules allow all callers',
  async (t) => {
    const { proxy } = await openServer(t)
    const admin = openClient(t, { proxy, auth: ADMIN, retries: 0 })
    const openAs = async (id: string, namespace = 'mx'): Promise<Client> => {
      const auth = { id, secret: 'a long secret' }
      const options = { namespace }
      await admin.call('auth', 'Auth.Generate', { ...auth, options })
      const { token } = await admin.call<{ token: { access_token: string } }>(
        'auth',
        'Auth.Token',
        {
          ...auth,
          options,
        },
      )
      return openClient(t, { proxy, token: token.access_token, retries: 0 })
    }
    const member = await openAs('jane')
    const crossNamespace = await openAs('joe', 'acme')
    const anonymous = openClient(t, { proxy, retries: 0 })
    for (const [caller, name, request = {}] of ENDPOINTS) {
      const isOpen = caller === 'anonymous'
      t.equal(
        await sendRequest(anonymous, name, request),
        isOpen ? 'served' : '401 An account is required',
        name,
      )
      const denied = isOpen ? 'served' : '403 Access denied to namespace'
      t.equal(
        await sendRequest(crossNamespace, name, request),
        denied,
        `${name}, an account of another namespace`,
      )
      const missing = ADMIN_ONLY.test(name) ? 'admin' : 'service'
      const rejected =
        caller === 'admin'
          ? `401 Permission denied: ${name} requires the scope ${missing} in namespace mx`
          : 'served'
      t.equal(await sendRequest(member, name, request), rejected, `${name}, a member`)
      t.equal(await sendRequest(admin, name, request), 'served', `${name}, an administrator`)
    }
  },
)
