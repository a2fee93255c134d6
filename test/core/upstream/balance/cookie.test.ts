import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import { type CookieSpan, findCookie } from '../../../../core/upstream/balance/cookie.ts'

function read(name: string, ...cookies: string[]): string | undefined {
  const headers = new HeaderList(['host', 'a', ...cookies.flatMap((text) => ['cookie', text])])
  const span: CookieSpan = { text: '', from: 0, to: 0 }
  return findCookie(headers, name, span) ? span.text.slice(span.from, span.to) : undefined
}

t.test('a cookie is recognized by its exact name', async (t) => {
  t.equal(read('sid', 'sid=1'), '1')
  t.equal(read('sid', 'a=b; sid=1; c=d'), '1')
  t.equal(read('sid', 'a=b;sid=1'), '1', 'without a space, too')
  t.equal(read('sid', 'sid='), '')
  t.equal(read('sid', 'sid=a=b'), 'a=b')
  t.equal(read('sid', 'xsid=1; sidx=2; a=sid=3; b=sid; sid=4'), '4')
  t.equal(read('sid', 'sid=1; sid=2'), '1', 'the first of two')
})

t.test('a cookie is recognized in any of several Cookie headers', async (t) => {
  t.equal(read('sid', 'a=b', 'sid=1'), '1')
})

t.test('a missing cookie returns undefined', async (t) => {
  t.equal(read('sid'), undefined)
  t.equal(read('sid', ''), undefined)
  t.equal(read('sid', 'sid'), undefined)
  t.equal(read('sid', 'SID=1'), undefined, 'names are case-sensitive (RFC 6265 §5.4)')
})
