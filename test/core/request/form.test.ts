import t from 'tap'
import { parseForm, parseFormPairs } from '../../../core/request/form.ts'

t.test('a form is parsed like a query', async (t) => {
  const body = Buffer.from('name=J%C3%B6hn+D&options.limit=1&tag=a&tag=b&é=x&on')
  t.equal(
    JSON.stringify(parseForm(body)),
    '{"name":"Jöhn D","options":{"limit":"1"},"tag":["a","b"],"é":"x","on":""}',
  )
  t.same(parseFormPairs(Buffer.from('a.b=1&a.b=2')), ['a.b', '1', 'a.b', '2'])
  t.same(parseFormPairs(new Uint8Array(0)), [])
})

t.test('rejects a malformed form with 400', async (t) => {
  const cases: [string | Buffer, RegExp][] = [
    ['a=%zz', /^form field "a" must be percent-encoded/],
    ['a[=1', /^form field "a\[" must be a name/],
    ['__proto__=1', /^form field "__proto__" must not be named/],
    ['a=1&'.repeat(257), /^expected at most 256 form fields$/],
    [Buffer.from([0x61, 0x3d, 0xff]), /^form must be UTF-8 text$/],
  ]
  for (const [body, message] of cases)
    t.throws(() => parseForm(Buffer.from(body as string), 'greeter'), {
      code: 400,
      id: 'greeter',
      message,
    })
})

t.test('the error for JSON sent as a form names the correct content type', async (t) => {
  for (const json of ['{"name":"John"}', ' \r\n{"name":"John"}'])
    t.throws(() => parseForm(Buffer.from(json)), {
      code: 400,
      message:
        "form must be name=value pairs; to send JSON, add -H 'content-type: application/json'",
    })
})
