import { get } from 'node:http'
import t from 'tap'
import { probePort } from '../../../core/listener/probe-port.ts'
import { EVERY_SOCKET, steerConnections } from '../../../core/listener/reuseport-steering.ts'
import { createUwsListener, loadUws } from '../../../core/listener/uws/listener.ts'

const HOST = '127.0.0.1'
/** Enough connections: the chance that all of them reach the same of two sockets is 1 in 2^59. */
const CONNECTIONS = 60

const skip =
  process.platform === 'linux' && loadUws() !== undefined
    ? false
    : 'shared ports of uWebSockets.js are not available'

t.test(
  'connections to a shared port go to one socket while steered, and to all sockets otherwise',
  { skip },
  async (t) => {
    const port = await probePort(HOST, 0)
    const served: string[] = []
    const open = async (name: string) => {
      const listener = await createUwsListener({
        host: HOST,
        port,
        shared: true,
        handle: (x) => {
          served.push(name)
          x.reply(200)
        },
      })
      t.teardown(listener.close)
      return listener
    }
    const countServers = async (): Promise<readonly string[]> => {
      served.length = 0
      const replies = Array.from({ length: CONNECTIONS }, () => request(port))
      t.same(new Set(await Promise.all(replies)), new Set([200]))
      return [...new Set(served)].sort()
    }

    const old = [await open('old 1'), await open('old 2')]
    await open('new 1')
    await open('new 2')
    t.same(
      await countServers(),
      ['new 1', 'new 2', 'old 1', 'old 2'],
      'every socket accepts connections',
    )
    await steerConnections(port, old.length)
    t.same(await countServers(), ['new 1'], 'one socket accepts all connections')
    old[0]!.drain()
    t.same(await countServers(), ['new 1'], 'while the other sockets close, too')
    old[1]!.drain()
    t.same(
      await countServers(),
      ['new 1', 'new 2'],
      'an index without a socket distributes connections to all',
    )
    await open('new 3')
    t.same(await countServers(), ['new 3'], 'a new socket at that index accepts all connections')
    await steerConnections(port, EVERY_SOCKET)
    t.same(
      await countServers(),
      ['new 1', 'new 2', 'new 3'],
      'every socket accepts connections again',
    )
  },
)

t.test('steering a port without a listener of this process is an error', { skip }, async (t) => {
  const port = await probePort(HOST, 0)
  await t.rejects(steerConnections(port, 0), {
    message: `this process does not listen on port ${port}`,
  })
})

function request(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: HOST, port, agent: false }, (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode))
    }).on('error', reject)
  })
}
