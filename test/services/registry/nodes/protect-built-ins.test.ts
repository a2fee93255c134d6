import t from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import { rejectBuiltInNodes } from '../../../../services/registry/nodes/protect-built-ins.ts'
import { openServer } from '../../../fixtures/server.ts'

const PROXY_ADDRESS = '127.0.0.1:8081'
const toService = (name: string, id: string, address = PROXY_ADDRESS) => ({
  name,
  version: 'latest',
  metadata: {},
  endpoints: [],
  nodes: [{ id, address, metadata: {} }],
})

t.test('rejects deregistering a built-in service of this server with 409', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(registry.close)
  registry.register(toService('store', 'store-1'), { ttlSeconds: 90 })
  registry.register(toService('store', 'store-2', '10.0.0.2:8081'), { ttlSeconds: 90 })
  registry.register(toService('greeter', 'greeter-1'), { ttlSeconds: 90 })
  const rejected = {
    code: 409,
    message:
      'node store-1 of store belongs to this server and cannot be deregistered while the server is running',
  }
  await t.rejects(
    rejectBuiltInNodes(toService('store', 'store-1'), registry, PROXY_ADDRESS, 'id'),
    rejected,
  )
  const otherServer = toService('store', 'store-1', '10.0.0.1:1')
  await t.rejects(
    rejectBuiltInNodes(otherServer, registry, PROXY_ADDRESS, 'id'),
    rejected,
    'nodes are compared by id',
  )
  await rejectBuiltInNodes(toService('store', 'store-2'), registry, PROXY_ADDRESS, 'id')
  await rejectBuiltInNodes(toService('greeter', 'greeter-1'), registry, PROXY_ADDRESS, 'id')
  await rejectBuiltInNodes(toService('store', 'store-1'), registry, undefined, 'id')
})

t.test('a built-in service continues to serve after an attempt to deregister it', async (t) => {
  const { get, post } = await openServer(t)
  const { body } = await get('/registry/getService?service=store')
  t.match(await post('/registry/deregister', body.services[0]), {
    status: 409,
    body: { Detail: /^node store\S* of store belongs to this server/ },
  })
  t.equal((await get('/store/databases')).status, 200)
})
