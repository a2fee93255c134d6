// uWebSockets with a static response, without a backend. Argument: port.
import { loadUws } from '../../core/listener/uws/listener.ts'

const BODY = '{"message":"Hello John","id":12345,"tags":["a","b"],"ok":true}'
const uws = loadUws()
if (uws === undefined) throw new Error('uWebSockets is not installed for this platform')
uws
  .App()
  .any('/*', (res) => {
    res.writeHeader('content-type', 'application/json')
    res.end(BODY)
  })
  .listen('127.0.0.1', Number(process.argv[2]), 0, (socket) => {
    if (socket === false) throw new Error('the port is in use')
  })
