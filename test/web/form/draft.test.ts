import t from 'tap'
import {
  addPart,
  changePart,
  type Draft,
  emptyDraft,
  movePart,
  OUT,
  removePart,
  withAlternative,
  withPart,
  withText,
} from '../../../web/form/draft.ts'
import { toField } from '../../../web/form/field.ts'

const LIST = toField({ type: 'array', items: { type: 'string' } })
const keysOf = ({ parts }: Draft) => parts.map(({ draft }) => draft.text)

t.test('items are added, moved and removed, and keep what was typed', (t) => {
  let list = emptyDraft(LIST)
  for (const text of ['a', 'b', 'c']) {
    list = addPart(list, LIST)
    list = withPart(list, list.parts.at(-1)!.id, { draft: withText(OUT, text) })
  }
  t.same(keysOf(movePart(list, 2, -1)), ['a', 'c', 'b'])
  t.same(keysOf(movePart(list, 0, 1)), ['b', 'a', 'c'])
  t.same(keysOf(movePart(list, 0, -1)), ['a', 'b', 'c'])
  t.same(keysOf(movePart(list, 2, 1)), ['a', 'b', 'c'])
  const left = removePart(list, 1)
  t.same(keysOf(left), ['a', 'c'])
  t.equal(addPart(left, LIST).parts.at(-1)!.id, 3, 'an id is not given twice')
  t.end()
})

t.test('what must be there is open, what may be missing is left out', (t) => {
  const form = toField({
    type: 'object',
    required: ['inner', 'version', 'isOpen', 'name', 'count', 'two'],
    properties: {
      inner: { type: 'object', properties: { a: { type: 'string' } } },
      version: { const: 1 },
      isOpen: { type: 'boolean' },
      name: { type: 'string' },
      count: { type: 'integer', default: 1 },
      two: { type: 'array', minItems: 2, items: { type: 'string' } },
      other: { type: 'object', properties: {} },
    },
  })
  const { parts } = emptyDraft(form)
  t.same(
    parts.map(({ draft }) => draft.presence),
    ['set', 'set', 'set', 'out', 'out', 'set', 'out'],
  )
  t.equal(parts[0]!.draft.parts.length, 1)
  t.equal(parts[5]!.draft.parts.length, 2)
  t.end()
})

t.test('what was typed into one alternative is there again when it is chosen again', (t) => {
  const field = toField({ anyOf: [{ type: 'string' }, { type: 'integer' }] })
  const text = withPart(emptyDraft(field), 0, { draft: withText(OUT, 'typed') })
  const number = withAlternative(text, field, 1)
  t.equal(number.text, '1')
  t.equal(withAlternative(number, field, 0).parts[0]!.draft.text, 'typed')
  t.equal(withAlternative(OUT, field, 1).parts.length, 2)
  t.end()
})

t.test('a change of a part made late leaves what was typed meanwhile', (t) => {
  let list = addPart(addPart(emptyDraft(LIST), LIST), LIST)
  const late = changePart(0, () => withText(OUT, 'file'))
  list = changePart(1, (now) => withText(now, 'typed'))(list)
  t.same(keysOf(late(list)), ['file', 'typed'])
  t.same(keysOf(late(removePart(list, 0))), ['typed'])
  t.end()
})
