import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t from 'tap'
import { createPinnedLookup } from '../../../core/egress/pinned-lookup.ts'

t.test('a connection goes to the pinned address, not to the address of the name', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const lookup = createPinnedLookup(['127.0.0.1'])
  for (const autoSelectFamily of [true, false]) {
    const socket = connect({ host: 'there-is-none.invalid', port, lookup, autoSelectFamily })
    await once(socket, 'connect')
    t.equal(socket.remoteAddress, '127.0.0.1')
    socket.destroy()
  }
})
