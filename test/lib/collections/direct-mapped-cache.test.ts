import t from 'tap'
import { DirectMappedCache } from '../../../lib/collections/direct-mapped-cache.ts'

t.test(
  'find returns the value cached for an equal string, and undefined for other strings',
  async (t) => {
    const memo = new DirectMappedCache<number>()
    t.equal(memo.get('/greeter'), undefined)
    memo.set('/greeter', 1)
    t.equal(memo.get(['/gre', 'eter'].join('')), 1, 'compared by content')
    t.equal(memo.get('/greeted'), undefined)
    t.equal(memo.get(''), undefined, 'an empty string is not cached initially')
    memo.set('', 2)
    t.equal(memo.get(''), 2)
  },
)

t.test('a cache of 1024 entries never returns the value of another key', async (t) => {
  const memo = new DirectMappedCache<string>()
  const texts = Array.from({ length: 50_000 }, (_, i) => `/service${i % 5000}/${i}`)
  let result = 0
  for (const text of texts) {
    const known = memo.get(text)
    if (known !== undefined) t.fail(`${text} is new, got ${known}`)
    memo.set(text, text)
    if (memo.get(text) === text) result++
  }
  t.equal(result, texts.length)
  const retained = texts.filter((text) => memo.get(text) !== undefined)
  t.ok(retained.length > 100 && retained.length <= 1024, `${retained.length} are cached`)
  t.ok(retained.every((text) => memo.get(text) === text))
})

t.test('strings over 256 characters are not cached', async (t) => {
  const memo = new DirectMappedCache<number>()
  memo.set('x'.repeat(256), 1)
  memo.set('x'.repeat(257), 2)
  t.equal(memo.get('x'.repeat(256)), 1)
  t.equal(memo.get('x'.repeat(257)), undefined)
})
