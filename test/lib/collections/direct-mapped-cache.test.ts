import t from 'tap'
import { DirectMappedCache } from '../../../lib/collections/direct-mapped-cache.ts'

t.test('what a text stands for is known while no other has taken its place', async (t) => {
  const memo = new DirectMappedCache<number>()
  t.equal(memo.find('/greeter'), undefined)
  memo.keep('/greeter', 1)
  t.equal(memo.find(['/gre', 'eter'].join('')), 1, 'by its text, whatever string it is')
  t.equal(memo.find('/greeted'), undefined)
  t.equal(memo.find(''), undefined, 'nor is the empty one known unasked')
  memo.keep('', 2)
  t.equal(memo.find(''), 2)
})

t.test('a text is never taken for another, however many there are', async (t) => {
  const memo = new DirectMappedCache<string>()
  const texts = Array.from({ length: 50_000 }, (_, i) => `/service${i % 5000}/${i}`)
  let found = 0
  for (const text of texts) {
    const known = memo.find(text)
    if (known !== undefined) t.fail(`${text} is new, got ${known}`)
    memo.keep(text, text)
    if (memo.find(text) === text) found++
  }
  t.equal(found, texts.length)
  const kept = texts.filter((text) => memo.find(text) !== undefined)
  t.ok(kept.length > 100 && kept.length <= 1024, `${kept.length} are kept`)
  t.ok(kept.every((text) => memo.find(text) === text))
})

t.test('long texts are not kept', async (t) => {
  const memo = new DirectMappedCache<number>()
  memo.keep('x'.repeat(256), 1)
  memo.keep('x'.repeat(257), 2)
  t.equal(memo.find('x'.repeat(256)), 1)
  t.equal(memo.find('x'.repeat(257)), undefined)
})
