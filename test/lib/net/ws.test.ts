import t from 'tap'
import * as library from 'ws'
import { WebSocket, WebSocketServer } from '../../../lib/net/ws.ts'

t.test('lib/net/ws exports the classes of the ws package, not copies', async (t) => {
  t.equal(WebSocket, library.WebSocket)
  t.equal(WebSocketServer, library.WebSocketServer)
})
