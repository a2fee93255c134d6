// In a process in which no client was ever held back.
import { createRequire } from 'node:module'
import t from 'tap'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { until } from '../../../fixtures/raw-backend.ts'
import {
  connectWebSocket,
  nextMessage,
  openBackendServer,
  openWebGateway,
} from '../../../fixtures/web-gateway.ts'

const MIB = 1024 * 1024

const major = process.versions.node.split('.')[0]
const library = `@uwsjs/${process.platform}-${process.arch}-${major}`
const { version } = createRequire(import.meta.url)(`${library}/package.json`)
const skip = /^20\.51\./.test(version) ? false : 'its library reads on whatever comes'

t.test(
  'the first client ever held back is read and written to again, with 16 MiB waiting for it',
  { skip },
  async (t) => {
    const backend = await openBackendServer(t)
    const { port, served } = await openWebGateway(t, createUwsListener, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const peer = await accepted
    let pings = 0
    client.on('ping', () => pings++)
    // Held back by a backend that does not read, after all that the client sends.
    peer.pause()
    const up = nextMessage(peer)
    client.send(Buffer.alloc(16 * MIB))
    await until(() => served[0]!.bytesIn === 16 * MIB)
    // More than the client takes at once.
    client.pause()
    const down = nextMessage(client)
    peer.send(Buffer.alloc(16 * MIB))
    await until(() => served[0]!.bytesOut === 16 * MIB)
    peer.resume()
    t.equal((await up).length, 16 * MIB)
    client.resume()
    t.equal((await down).length, 16 * MIB)
    client.send('more')
    t.equal(await nextMessage(peer), 'more')
    t.equal(pings, 0, 'at once, not when the library looks for a sign of life')
  },
)
