import t from 'tap'
import { countColumns, countRows, findLine, layOut } from '../../../web/runtime/wrapped-lines.ts'

t.test('counts the columns of a text', (t) => {
  t.equal(countColumns(''), 0)
  t.equal(countColumns('{"level":30}'), 12)
  t.equal(countColumns('\ta\t'), 9, 'a tab is 4 columns')
  t.equal(countColumns('日本'), 4)
  t.end()
})

t.test('counts the rows of a wrapped text', (t) => {
  t.equal(countRows(0, 10), 1, 'an empty line')
  t.equal(countRows(10, 10), 1)
  t.equal(countRows(11, 10), 2)
  t.equal(countRows(1000, 0), 1, 'the width is unknown')
  t.end()
})

t.test('finds the line of a row', (t) => {
  const firstRows = layOut(3, (i) => [1, 3, 2][i]!)
  t.strictSame([...firstRows], [0, 1, 4, 6])
  t.strictSame(
    [0, 1, 2, 3, 4, 5, 6, 9].map((row) => findLine(firstRows, row)),
    [0, 1, 1, 1, 2, 2, 3, 3],
  )
  t.equal(
    findLine(
      layOut(0, () => 1),
      0,
    ),
    0,
  )
  t.end()
})
