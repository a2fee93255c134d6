import t from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import {
  decodeMessage,
  encodeMessage,
  toConnectCode,
  toErrorTrailers,
  toGrpcStatus,
  toTrailers,
} from '../../../../core/rpc/grpc/status-codes.ts'

t.test('HTTP statuses map to gRPC statuses and Connect codes (reference 11.2)', async (t) => {
  const rows: [number, number, string][] = [
    [400, 3, 'invalid_argument'],
    [401, 16, 'unauthenticated'],
    [403, 7, 'permission_denied'],
    [404, 5, 'not_found'],
    [408, 4, 'deadline_exceeded'],
    [409, 6, 'already_exists'],
    [412, 9, 'failed_precondition'],
    [413, 8, 'resource_exhausted'],
    [500, 13, 'internal'],
    [501, 12, 'unimplemented'],
    [502, 14, 'unavailable'],
    [503, 14, 'unavailable'],
    [418, 2, 'unknown'],
  ]
  for (const [code, status, name] of rows) {
    t.equal(toGrpcStatus(code), status, `${code}`)
    t.equal(toConnectCode(status), name)
  }
  t.equal(toConnectCode(99), 'unknown')
})

t.test('an encoded grpc-message is decoded unchanged', async (t) => {
  for (const text of ['', 'plain', '100 %', 'Jörg\r\n😀', '%41'])
    t.equal(decodeMessage(encodeMessage(text)), text)
  t.equal(decodeMessage('100 %'), '100 %', 'an unencoded message')
})

t.test('error trailers have grpc-status, grpc-message and the headers of the error', async (t) => {
  t.strictSame(toTrailers(0).flat, ['grpc-status', '0'])
  const error = new GatewayError('a', 429, 'slow', { headers: ['retry-after', '7'] })
  const fields = ['grpc-status', '8', 'grpc-message', 'slow', 'retry-after', '7']
  t.strictSame(toErrorTrailers(error).flat, fields)
})
