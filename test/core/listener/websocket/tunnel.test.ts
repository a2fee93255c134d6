// Requires a process in which no client was throttled before.
import { createRequire } from 'node:module'
import t from 'tap'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
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
const skip = /^20\.51\./.test(version)
  ? false
  : 'this version of uWebSockets.js does not throttle clients'

t.test(
  'resumes reading from and writing to the first throttled client, with 16 MiB pending for it',
  { skip },
  async (t) => {
    const backend = await openBackendServer(t)
    const { port, served } = await openWebGateway(t, createUwsListener, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const peer = await accepted
    let pings = 0
    client.on('ping', () => pings++)
    // The backend does not read, so the client is throttled after its last message.
    peer.pause()
    const pending = nextMessage(peer)
    client.send(Buffer.alloc(16 * MIB))
    await waitUntil(() => served[0]!.bytesIn === 16 * MIB)
    // More than the client receives in one read.
    client.pause()
    const downstream = nextMessage(client)
    peer.send(Buffer.alloc(16 * MIB))
    await waitUntil(() => served[0]!.bytesOut === 16 * MIB)
    peer.resume()
    t.equal((await pending).length, 16 * MIB)
    client.resume()
    t.equal((await downstream).length, 16 * MIB)
    client.send('more')
    t.equal(await nextMessage(peer), 'more')
    t.equal(pings, 0, 'immediately, not on a keep-alive ping of the library')
  },
)
