import t from 'tap'
import { isUtf8Charset, parseMediaType, toRequestType } from '../../../core/request/media-type.ts'

t.test('a media type is parsed into type, charset and boundary', async (t) => {
  const cases: [string, [string, string, string]][] = [
    ['application/json', ['application/json', '', '']],
    ['Application/JSON ; Charset=UTF-8', ['application/json', 'utf-8', '']],
    ['text/plain;charset="iso-8859-1";x=y', ['text/plain', 'iso-8859-1', '']],
    ['multipart/form-data; boundary=aB-1', ['multipart/form-data', '', 'aB-1']],
    ['multipart/form-data; boundary="a b:c"', ['multipart/form-data', '', 'a b:c']],
  ]
  for (const [text, [type, charset, boundary]] of cases)
    t.same(parseMediaType(text), { type, charset, boundary }, text)
  for (const text of [
    '',
    '/',
    'a',
    'a/',
    '/b',
    'a b/c',
    'a/b c',
    'a/b, c/d',
    'a/b;c',
    ' a/b',
    'a/b; boundary=x; boundary=y',
  ])
    t.equal(parseMediaType(text), undefined, text)
})

t.test('the content type selects the body parser, and the default is JSON', async (t) => {
  const cases: [string | undefined, string][] = [
    [undefined, 'json'],
    ['', 'json'],
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['APPLICATION/JSON', 'json'],
    ['application/json-rpc', 'json'],
    ['application/grpc+json', 'json'],
    ['application/protobuf', 'protobuf'],
    ['application/proto', 'protobuf'],
    ['application/proto-rpc', 'protobuf'],
    ['application/grpc', 'protobuf'],
    ['application/grpc+proto', 'protobuf'],
    ['application/octet-stream', 'protobuf'],
    ['application/x-www-form-urlencoded;charset=UTF-8', 'form'],
    ['multipart/form-data; boundary=x', 'multipart'],
  ]
  for (const [text, kind] of cases) t.equal(toRequestType(text).kind, kind, `${text}`)
  t.equal(toRequestType('multipart/form-data; boundary=x').boundary, 'x')
})

t.test('rejects an unsupported content type with 415', async (t) => {
  const accept =
    'application/json, application/protobuf, application/x-www-form-urlencoded, multipart/form-data'
  for (const text of [
    'text/plain',
    'text/html; charset=utf-8',
    'application/xml',
    'application/jsonx',
    'json',
    'multipart/mixed; boundary=x',
    'application/json; charset',
    'constructor',
  ])
    t.throws(
      () => toRequestType(text),
      {
        code: 415,
        id: 'go.mx.api',
        headers: ['accept', accept],
        message: `content type must be one of ${accept}, got "${text}"`,
      },
      text,
    )
  t.throws(() => toRequestType('text/plain', 'greeter'), { code: 415, id: 'greeter' })
})

t.test('rejects a charset other than UTF-8 with 415', async (t) => {
  t.throws(() => toRequestType('application/json; charset=iso-8859-1'), {
    code: 415,
    message: 'charset must be utf-8, got "iso-8859-1"',
  })
  for (const charset of ['', 'utf-8', 'utf8', 'us-ascii']) t.ok(isUtf8Charset(charset), charset)
  t.notOk(isUtf8Charset('utf-16'))
})
