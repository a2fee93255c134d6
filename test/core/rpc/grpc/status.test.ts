import { STATUS_CODES } from 'node:http'
import t from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { withGrpcStatus } from '../../../../core/rpc/grpc/status.ts'

t.test('errors of gRPC requests get grpc-status and grpc-message headers', async (t) => {
  const error = new GatewayError('app', 503, 'gone', {
    cause: 'why',
    headers: ['retry-after', '1'],
  })
  for (const type of ['application/grpc', 'application/grpc+json', 'Application/gRPC; a=b']) {
    const result = withGrpcStatus(error, type)
    const fields = ['retry-after', '1', 'grpc-status', '14', 'grpc-message', 'gone']
    t.strictSame(result.headers, fields, type)
    t.strictSame(result.toBody(), error.toBody())
    t.equal(result.cause, 'why')
  }
  for (const type of [undefined, '', 'application/json', 'application/grpc-web', 'text/grpc'])
    t.equal(withGrpcStatus(error, type), error, `${type}`)
})

t.test('every HTTP error status has a gRPC status', async (t) => {
  const getStatus = (code: number) =>
    withGrpcStatus(new GatewayError('app', code, ''), 'application/grpc').headers?.[1]
  const cases: [number, string][] = [
    [400, '3'],
    [401, '16'],
    [403, '7'],
    [404, '5'],
    [408, '4'],
    [429, '8'],
    [500, '13'],
    [504, '4'],
    [418, '2'],
  ]
  for (const [code, status] of cases) t.equal(getStatus(code), status, `${code}`)
  for (const code of Object.keys(STATUS_CODES).map(Number))
    if (code >= 400) t.match(getStatus(code), /^([1-9]|1[0-6])$/, `${code}`)
})

t.test('grpc-message is percent-encoded into one header value', async (t) => {
  const getMessage = (text: string) =>
    withGrpcStatus(new GatewayError('app', 500, text), 'application/grpc').headers?.[3]
  t.equal(getMessage('100 % "Jörg"\r\n😀\0~'), '100 %25 "J%C3%B6rg"%0D%0A%F0%9F%98%80%00~')
  t.equal(getMessage('lone \ud800'), 'lone %EF%BF%BD')
})
