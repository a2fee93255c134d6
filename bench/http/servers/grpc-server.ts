// gRPC server that sends the same small response to every call. Argument: port.
import { createServer } from 'node:http2'
import { SMALL_PROTOBUF, toGrpcMessage } from './documents.ts'

const REPLY = toGrpcMessage(SMALL_PROTOBUF)

const server = createServer()
server.on('stream', (stream) => {
  stream.resume()
  stream.on('error', () => {})
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.end(REPLY)
})
server.listen(Number(process.argv[2]), '127.0.0.1')
