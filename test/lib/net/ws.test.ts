import t from 'tap'
import * as library from 'ws'
import { WebSocket, WebSocketServer } from '../../../lib/net/ws.ts'

t.test('it is the library, and no second copy of it', async (t) => {
  t.equal(WebSocket, library.WebSocket)
  t.equal(WebSocketServer, library.WebSocketServer)
})
