import t from 'tap'
import { toApiRequest } from '../../../core/api/request.ts'
import { TestExchange, type TestRequest } from '../../../sdk/testing.ts'

function convert(
  request: TestRequest,
  body: string | Uint8Array = '',
): ReturnType<typeof toApiRequest> {
  const x = new TestExchange(request)
  x.route = { service: 'go.mx.api.users', endpoint: 'Users.Call' }
  return toApiRequest(x, Buffer.from(body))
}

/** The request as a service receives it. */
function document(request: ReturnType<typeof toApiRequest>): unknown {
  return JSON.parse(JSON.stringify(request))
}

t.test('an api.Request has method, path, header, get, post, body and url', (t) => {
  const request = convert(
    {
      method: 'PUT',
      path: '/users/call%20me?a=1&b=x+y&a=%C3%A9&c',
      host: 'api.example.com',
      headers: { 'content-type': 'application/json', cookie: ['a=1', 'b=2'] },
    },
    '{"name":"John"}',
  )
  t.strictSame(document(request), {
    method: 'PUT',
    path: '/users/call%20me',
    header: {
      'Content-Type': { key: 'Content-Type', values: ['application/json'] },
      Cookie: { key: 'Cookie', values: ['a=1', 'b=2'] },
      Host: { key: 'Host', values: ['api.example.com'] },
    },
    get: {
      a: { key: 'a', values: ['1', 'é'] },
      b: { key: 'b', values: ['x y'] },
      c: { key: 'c', values: [''] },
    },
    post: {},
    body: '{"name":"John"}',
    url: '/users/call%20me?a=1&b=x+y&a=%C3%A9&c',
  })
  t.end()
})

t.test('nested parameter names are passed unchanged', (t) => {
  const { get } = convert({ path: '/?a[b]=1&c.d=2&e[]=3' })
  t.same(Object.keys(get), ['a[b]', 'c.d', 'e[]'])
  t.end()
})

t.test('a form is parsed into post, and body is empty', (t) => {
  for (const type of [
    'application/x-www-form-urlencoded',
    'Application/X-WWW-Form-Urlencoded ; charset=UTF-8',
  ]) {
    const request = convert(
      { method: 'POST', path: '/users?a=query', headers: { 'content-type': type } },
      'a=1&b=2+3&a=%26',
    )
    t.strictSame(document(request), {
      method: 'POST',
      path: '/users',
      header: {
        'Content-Type': { key: 'Content-Type', values: [type] },
        Host: { key: 'Host', values: ['localhost'] },
      },
      get: { a: { key: 'a', values: ['query'] } },
      post: { a: { key: 'a', values: ['1', '&'] }, b: { key: 'b', values: ['2 3'] } },
      body: '',
      url: '/users?a=query',
    })
  }
  t.end()
})

t.test('a missing or malformed content type becomes text/plain', (t) => {
  const invalid = [
    undefined,
    '',
    'json',
    'text/',
    '/plain',
    'a/b c/d',
    'a/b,c/d',
    ';charset=x',
    'a/b;c',
  ]
  for (const type of invalid) {
    const { header, body } = convert(
      { method: 'POST', headers: type === undefined ? {} : { 'content-type': type } },
      'a=1',
    )
    t.same(header['Content-Type'], {
      key: 'Content-Type',
      values: ['text/plain; charset=UTF-8'],
    })
    t.equal(body, 'a=1', type ?? 'none')
  }
  t.same(convert({ headers: { 'content-type': 'a/b;c=d' } }).header['Content-Type']?.values, [
    'a/b;c=d',
  ])
  t.end()
})

t.test('a body that is not UTF-8 is Base64, with the encoding base64', (t) => {
  const bytes = Uint8Array.of(0, 0xff, 0x10)
  const json = convert({ method: 'POST' }, bytes)
  t.equal(json.body, 'AP8Q')
  t.equal(json.encoding, 'base64')
  const text = convert({ method: 'POST' }, 'text')
  t.equal(text.body, 'text')
  t.notOk('encoding' in text)
  t.end()
})

t.test('rejects a malformed query or form with 400 and the name of the service', (t) => {
  const many = Array.from({ length: 257 }, (_, i) => `p${i}=1`).join('&')
  for (const text of ['a=%zz', '__proto__=1', 'constructor=1', '=1', many]) {
    const expected = { code: 400, id: 'go.mx.api.users' }
    t.throws(() => convert({ path: `/users?${text}` }), expected, text.slice(0, 20))
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    t.throws(() => convert({ method: 'POST', headers }, text), expected)
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  t.throws(() => convert({ method: 'POST', headers }, Uint8Array.of(0x61, 0x3d, 0xff)), {
    code: 400,
    message: 'form must be UTF-8 text',
  })
  t.equal(Object.keys(convert({ path: `/?${many.slice(0, -7)}` }).get).length, 256)
  t.end()
})
