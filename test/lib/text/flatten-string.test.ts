import t from 'tap'
import { flattenString } from '../../../lib/text/flatten-string.ts'

t.test('a flattened substring equals the original text', async (t) => {
  for (const text of ['', 'a', 'x'.repeat(1000), 'gr\u00fc\u00dfe', '\u20ac \ud83d\ude00'])
    t.equal(flattenString(`<${text}>`.slice(1, -1)), text)
})
