import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { createPinnedLookup } from '../../../core/egress/pinned-lookup.ts'
import { listen } from '../../fixtures/listen.ts'

t.test('a connection goes to the pinned address, not to the address of the name', async (t) => {
  const server = createServer()
  const port = await listen(t, server)
  const lookup = createPinnedLookup(['127.0.0.1'])
  for (const autoSelectFamily of [true, false]) {
    const socket = connect({ host: 'there-is-none.invalid', port, lookup, autoSelectFamily })
    await once(socket, 'connect')
    t.equal(socket.remoteAddress, '127.0.0.1')
    socket.destroy()
  }
})
