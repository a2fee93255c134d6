// RPC proxy for one service, used by `npm run bench rpc-proxy`. Arguments: port, service name, service port.
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import { openRpcProxy } from '../../platform/rpc-proxy/rpc-proxy.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'

const [port, name = '', servicePort] = process.argv.slice(2)
const node = { id: name, address: `127.0.0.1:${servicePort}`, metadata: { protocol: 'mx' } }
const registry = createStaticRegistry([
  { name, version: 'latest', metadata: {}, endpoints: [], nodes: [node] },
])
const directory = new ServiceCache(registry, {
  upstream: () => ({
    createPool: (address) =>
      new Pool({
        ...address,
        timeouts: { connectMs: 5000, replyMs: 60_000, idleMs: 60_000 },
        keepAliveMs: 4000,
        maxConnections: 100,
        maxWaiting: 1000,
      }),
  }),
})
await openRpcProxy({
  address: { host: '127.0.0.1', port: Number(port) },
  find: (service) => directory.find(service),
  log: createServiceLog({ service: 'proxy' }),
})
