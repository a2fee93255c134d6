import fc from 'fast-check'
import t from 'tap'
import {
  skipBlanks,
  skipValue,
  splitObject,
  visitMembers,
} from '../../../../core/request/json/json-text.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('splitObject returns the text of each member unchanged', async (t) => {
  const text =
    ' { "id" : 12345678901234567890 , "a\\u0062":{"x":[1, {"y":"}]"}]} ,"s":"\\"}","e":1e2}'
  t.same(
    [...splitObject(text)!],
    [
      ['id', '12345678901234567890'],
      ['ab', '{"x":[1, {"y":"}]"}]}'],
      ['s', '"\\"}"'],
      ['e', '1e2'],
    ],
  )
  t.same([...splitObject('{}')!], [])
  t.same([...splitObject('{ }')!], [])
})

t.test('the last of duplicate names takes precedence, as in JSON.parse', async (t) => {
  t.same(
    [...splitObject('{"a":1,"b":2,"\\u0061":3}')!],
    [
      ['a', '3'],
      ['b', '2'],
    ],
  )
})

t.test('splitObject returns undefined for a value that is not an object', async (t) => {
  for (const text of ['[]', '1', '"{}"', 'null', ' [{}]'])
    t.equal(splitObject(text), undefined, text)
})

t.test('the parsed members of a random object equal the object', async () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.nat({ max: 3 }),
      (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        const members = [...splitObject(text)!].map(([name, part]) => [name, JSON.parse(part)])
        const expected = Object.entries(JSON.parse(text))
        // JSON.parse creates __proto__ as an own property, which Object.entries includes.
        return JSON.stringify(members) === JSON.stringify(expected)
      },
    ),
    { numRuns: scaleRuns(500) },
  )
})

t.test('skipValue returns the end of a value', async (t) => {
  t.equal(skipValue('12', 0), 2)
  t.equal(skipValue('[1 ,2]', 1), 2)
  t.equal(skipValue('[true]', 1), 5)
  t.equal(skipValue('{"a":"]"} x', 0), 9)
  t.equal(skipBlanks(' \t\r\nx', 0), 4)
  t.equal(skipBlanks('x', 1), 1)
})

t.test('a visitor can skip a member value itself', async (t) => {
  const visited: [string, number][] = []
  const text = '[{"a":[1],"b":2} ]'
  const end = visitMembers(text, 1, (name, start) => {
    visited.push([name, start])
    return skipValue(text, start)
  })
  t.equal(end, 16)
  t.same(visited, [
    ['a', 6],
    ['b', 14],
  ])
})
