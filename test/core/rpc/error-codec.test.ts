import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { formatFail, isErrorCode, parseFail, toBadResponse } from '../../../core/rpc/error-codec.ts'
import { readVectors } from '../../fixtures/rpc.ts'

t.test('errors are JSON with four names, accepted in any letter case', async (t) => {
  for (const { json, error } of readVectors().errors) {
    const read = parseFail(json, 'helloworld')
    const received = read && {
      ...{ id: read.id, code: read.code, detail: read.message },
      ...(!read.repeatable && { repeat: false }),
      ...(read.headers !== undefined && { metadata: read.headers }),
    }
    t.strictSame(received, error ?? undefined, json)
  }
})

t.test('a formatted error is parsed back unchanged', async (t) => {
  const json = formatFail(new GatewayError('helloworld', 404, 'no Jörg'))
  t.equal(json, '{"Id":"helloworld","Code":404,"Detail":"no Jörg","Status":"Not Found"}')
  t.match(parseFail(json, 'x'), { id: 'helloworld', code: 404, message: 'no Jörg' })
})

t.test('headers and repeat of an error are written if they apply', async (t) => {
  const headers = ['Retry-After', '7', 'x-name', 'J\u00f6rg']
  const once = new GatewayError('helloworld', 500, 'half of it', { headers, repeatable: false })
  const vector = readVectors().messages.find(({ name }) =>
    name.startsWith('an error with metadata'),
  )
  t.equal(formatFail(once), vector!.frames[0]!.body)
  const plain = new GatewayError('a', 500, 'd')
  t.equal(formatFail(plain), JSON.stringify(plain.toBody()))
  t.equal(parseFail(formatFail(plain, false), 'x')?.repeatable, false, 'as its endpoint declares')
  const others = ['content-type', 'text/html', 'Content-Length', '5', 'allow', 'POST']
  const typed = formatFail(new GatewayError('a', 415, 'd', { headers: others }))
  t.strictSame(parseFail(typed, 'x')?.headers, ['allow', 'POST'])
  for (const invalid of [
    ['a b', 'c'],
    ['a', 'b\r\nc: d'],
    ['a', '\u20ac'],
    ['a', 'b'.repeat(70_000)],
  ]) {
    const json = formatFail(new GatewayError('a', 400, 'd', { headers: invalid }))
    t.equal(json, formatFail(new GatewayError('a', 400, 'd')), 'invalid headers are omitted')
  }
})

t.test('the JSON of an error is at most 64 KiB, its code from 400 to 599', async (t) => {
  for (const text of ['x', '\0', '😀', 'ö', '"']) {
    const json = formatFail(new GatewayError(text.repeat(50_000), 418, text.repeat(100_000)))
    t.ok(Buffer.byteLength(json) <= 65536)
    t.equal(parseFail(json, 'x')?.code, 418)
  }
  const headers = ['a', 'x'.repeat(60_000)]
  const long = formatFail(new GatewayError('a', 500, 'd', { headers, repeatable: false }))
  t.ok(long.length < 200)
  t.match(parseFail(long, 'x'), { headers: undefined, repeatable: false })
  t.equal(parseFail(formatFail(new GatewayError('a', 302, 'elsewhere')), 'x')?.code, 500)
  t.equal(parseFail(formatFail(new GatewayError('a', Number.NaN, '')), 'x')?.code, 500)
})

t.test('a malformed response fails with 502 and the name of the service', async (t) => {
  const error = toBadResponse('helloworld', 'no JSON')
  t.match(error, { id: 'helloworld', code: 502, cause: 'no JSON' })
  t.equal(error.message, 'bad gateway: malformed response from helloworld')
})

t.test('isErrorCode accepts integers from 400 to 599', async (t) => {
  for (const code of [400, 499, 500, 599]) t.ok(isErrorCode(code))
  for (const code of [200, 302, 399, 600, 400.5, Number.NaN, '404', undefined])
    t.notOk(isErrorCode(code), String(code))
})
