import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { formatFail, parseFail, toBadAnswer } from '../../../core/rpc/fail.ts'
import { readVectors } from '../../fixtures/rpc.ts'

t.test('errors are JSON; readers accept the four names in any letter case', async (t) => {
  for (const { json, error } of readVectors().errors) {
    const read = parseFail(json, 'helloworld')
    const got = read && { id: read.id, code: read.code, detail: read.message }
    t.strictSame(got, error ?? undefined, json)
  }
})

t.test('what is written is read again', async (t) => {
  const json = formatFail(new GatewayError('helloworld', 404, 'no Jörg'))
  t.equal(json, '{"Id":"helloworld","Code":404,"Detail":"no Jörg","Status":"Not Found"}')
  t.match(parseFail(json, 'x'), { id: 'helloworld', code: 404, message: 'no Jörg' })
})

t.test(
  'the JSON of an error is never longer than 64 KiB, and its code is one of an error',
  async (t) => {
    for (const text of ['x', '\0', '😀', 'ö', '"']) {
      const json = formatFail(new GatewayError(text.repeat(50_000), 418, text.repeat(100_000)))
      t.ok(Buffer.byteLength(json) <= 65536)
      t.equal(parseFail(json, 'x')?.code, 418)
    }
    t.equal(parseFail(formatFail(new GatewayError('a', 302, 'elsewhere')), 'x')?.code, 500)
    t.equal(parseFail(formatFail(new GatewayError('a', Number.NaN, '')), 'x')?.code, 500)
  },
)

t.test('a malformed answer is a 502 that names the service', async (t) => {
  const error = toBadAnswer('helloworld', 'no JSON')
  t.match(error, { id: 'helloworld', code: 502, cause: 'no JSON' })
  t.equal(error.message, 'bad gateway: the answer of helloworld is malformed')
})
