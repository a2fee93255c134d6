import t from 'tap'
import { cutText, findTextWidth } from '../../../cli/ui/text-width.ts'

const WIDTHS: Readonly<Record<string, number>> = {
  '': 0,
  plain: 5,
  Grüße: 5,
  'Gru\u0308ße': 5,
  日本語: 6,
  한국어: 6,
  ｆｕｌｌ: 8,
  '🚀': 2,
  '👩‍👩‍👧': 2,
  '🇩🇪': 2,
  '❤️': 2,
  'a\u200bb': 2,
  Ω: 1,
}

t.test('wide characters and emoji have two columns, combining marks none', (t) => {
  for (const [text, width] of Object.entries(WIDTHS)) t.equal(findTextWidth(text), width, text)
  t.end()
})

t.test('a text is never cut within a character', (t) => {
  t.equal(cutText('plain', 3), 'pla')
  t.equal(cutText('日本語', 5), '日本')
  t.equal(cutText('👩‍👩‍👧x', 2), '👩‍👩‍👧')
  t.equal(cutText('👩‍👩‍👧x', 1), '')
  t.end()
})
