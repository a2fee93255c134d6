import fc from 'fast-check'
import t from 'tap'
import { isLeaf } from '../../../core/request/fields.ts'
import { parseMultipart } from '../../../core/request/multipart.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

/** A part with its header lines and its content. */
function part(header: string, content: string): string {
  return `--b\r\n${header}\r\n\r\n${content}\r\n`
}

function field(name: string, content: string): string {
  return part(`Content-Disposition: form-data; name="${name}"`, content)
}

function file(name: string, content: string): string {
  return part(
    `Content-Disposition: form-data; name="${name}"; filename="a.bin"\r\nContent-Type: application/octet-stream`,
    content,
  )
}

const END = '--b--\r\n'

function parse(body: string | Uint8Array, boundary = 'b') {
  return parseMultipart(typeof body === 'string' ? Buffer.from(body) : body, boundary, 'greeter')
}

/** Parsed fields as JSON, files as `<content>`. */
function read(body: string | Uint8Array, boundary?: string): string {
  return JSON.stringify(parse(body, boundary), (_name, value) =>
    typeof value === 'object' && 'type' in value && value.type === 'Buffer'
      ? `<${Buffer.from(value.data).toString('latin1')}>`
      : value,
  )
}

t.test('fields are parsed as text, files as bytes', async (t) => {
  t.equal(read(END), '{}')
  t.equal(
    read(field('name', 'Jöhn') + file('data', 'a\r\nb\0') + END),
    '{"name":"Jöhn","data":"<a\\r\\nb\\u0000>"}',
  )
  const body = Buffer.concat([
    Buffer.from(file('f', '').slice(0, -2)),
    Buffer.from([0xff, 0xfe]),
    Buffer.from(`\r\n${END}`),
  ])
  const { f } = parse(body)
  t.ok(f instanceof Uint8Array && isLeaf(f))
  t.same([...(f as Uint8Array)], [0xff, 0xfe])
  t.equal((f as Uint8Array).buffer, body.buffer, 'not copied')
})

t.test('field names nest as in a query', async (t) => {
  const body =
    field('o.a', '1') +
    field('o[b]', '2') +
    field('t', 'x') +
    field('t', 'y') +
    file('fs[]', 'z') +
    END
  t.equal(read(body), '{"o":{"a":"1","b":"2"},"t":["x","y"],"fs":["<z>"]}')
  t.throws(() => parse(field('__proto__', '1') + END), {
    code: 400,
    message: /^form field "__proto__"/,
  })
  t.throws(() => parse(field('a', '1') + field('a.b', '1') + END), {
    code: 400,
    message: /conflicts with/,
  })
  t.throws(() => parse(field('', '1') + END), { code: 400 })
})

t.test('a form serialized by FormData is parsed back unchanged', async () => {
  const entries = fc.array(
    fc.tuple(
      fc
        .string({ unit: 'grapheme', minLength: 1 })
        .filter((name) => !/[.[\]\\%]|^(?:__proto__|constructor|prototype)$/.test(name)),
      fc.string({ unit: 'grapheme' }),
      fc.boolean(),
    ),
    { maxLength: 5 },
  )
  await fc.assert(
    fc.asyncProperty(entries, async (entries) => {
      const form = new FormData()
      const expected = new Map<string, string[]>()
      for (const [name, content, isFile] of entries) {
        const value = isFile ? new File([content], 'x"\r\n.txt') : content
        if (isFile) form.append(name, value as File)
        else form.append(name, content)
        // FormData normalizes the line ends of fields.
        const key = name.replaceAll(/\r\n|\r|\n/g, '\r\n')
        const text = isFile ? content : content.replaceAll(/\r\n|\r|\n/g, '\r\n')
        expected.set(key, [...(expected.get(key) ?? []), text])
      }
      const response = new Response(form)
      const boundary = /boundary=(.*)$/.exec(response.headers.get('content-type')!)![1]!
      const fields = parse(new Uint8Array(await response.arrayBuffer()), boundary)
      for (const [name, values] of expected) {
        const input = [fields[name]!].flat()
        const texts = input.map((value) =>
          typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString(),
        )
        if (JSON.stringify(texts) !== JSON.stringify(values)) return false
      }
      return Object.keys(fields).length === expected.size
    }),
  )
})

t.test('text before the first and after the last boundary is ignored (RFC 2046)', async (t) => {
  t.equal(read(`preamble\r\n--x\r\n${field('a', '1')}${END}epilogue\r\n--b\r\n`), '{"a":"1"}')
  t.equal(read(`\r\n${field('a', '1')}--b--`), '{"a":"1"}')
  t.equal(
    read(`--b \t\r\n${field('a', '1').slice(5)}--b-- \t\r\nx`),
    '{"a":"1"}',
    'spaces after a boundary',
  )
})

t.test('content that resembles a boundary is preserved', async (t) => {
  for (const content of ['x--b', '\n--b', '\r--b', '\r\n--', '\r\n-b', '\r\n\r\n', '', '\r\n'])
    t.equal(JSON.parse(read(field('a', content) + END)).a, content, JSON.stringify(content))
  t.equal(
    read(`--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--`),
    '{"a":""}',
    'an empty part',
  )
})

t.test('part headers are parsed in the forms that clients use', async (t) => {
  const cases: [string, string][] = [
    ['content-disposition:form-data;name=a', '{"a":"1"}'],
    ['Content-Disposition: Form-Data; NAME="a" ', '{"a":"1"}'],
    ['X-Other: y\r\nContent-Disposition: form-data; name="a"', '{"a":"1"}'],
    ['Content-Disposition: form-data; name="a%22b"', '{"a\\"b":"1"}'],
    ['Content-Disposition: form-data; name="é"', '{"é":"1"}'],
    ['Content-Disposition: form-data; filename="C:\\x\\"; name="a"', ''],
    ['Content-Disposition: form-data; filename="C:\\x\\y"; name="a"', '{"a":"<1>"}'],
    ["Content-Disposition: form-data; name=a; filename*=UTF-8''x", '{"a":"<1>"}'],
    ['Content-Disposition: form-data; name="a"; filename=""', '{"a":"<1>"}'],
    [
      'Content-Type: text/plain; charset=UTF-8\r\nContent-Disposition: form-data; name=a',
      '{"a":"1"}',
    ],
    ['Content-Transfer-Encoding: 8BIT\r\nContent-Disposition: form-data; name=a', '{"a":"1"}'],
  ]
  for (const [header, json] of cases) {
    if (json === '') t.throws(() => read(part(header, '1') + END), { code: 400 }, header)
    else t.equal(read(part(header, '1') + END), json, header)
  }
})

t.test('rejects a malformed body with 400', async (t) => {
  const validPart = field('a', '1')
  const cases: [string, RegExp][] = [
    ['', /contains no boundary "b"/],
    ['hello', /contains no boundary/],
    ['--c--', /contains no boundary/],
    ['--b', /boundary at byte 3 must be followed by a line end/],
    ['--bx\r\n', /followed by a line end/],
    ['--b\n', /followed by a line end/],
    [validPart, /end of part 1 is missing/],
    [`${validPart}x`, /end of part 1 is missing/],
    [`${validPart}--b`, /followed by a line end/],
    [`${validPart}--b-`, /followed by a line end/],
    [`${validPart}--b--x`, /followed by a line end/],
    [`${validPart}--bX\r\n${validPart.slice(5)}${END}`, /followed by a line end/],
    ['--b\r\nContent-Disposition: form-data; name="a"\r\n1\r\n--b--', /header of part 1 must end/],
    ['--b\r\nContent-Disposition: form-data; name="a"\n\n1\r\n--b--', /header of part 1 must end/],
    [field('a', '--b') + END, /header of part 2 must end/],
    [`--b\r\n\r\n1\r\n${END}`, /header of part 1 must end/],
    [part('X: y', '1') + END, /part 1 has no Content-Disposition/],
    [
      validPart + part('Content-Disposition: form-data', '1') + END,
      /Content-Disposition of part 2 must be form-data; name="\.\.\."/,
    ],
    [part('Content-Disposition: attachment; name=a', '1') + END, /got "attachment; name=a"/],
    [
      part('Content-Disposition: form-data; name=a; name=b', '1') + END,
      /Content-Disposition of part 1/,
    ],
    [part('Content-Disposition: form-data; name="a', '1') + END, /Content-Disposition of part 1/],
    [
      part(
        'Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b',
        '1',
      ) + END,
      /several Content-Disposition headers/,
    ],
    [
      part('Content-Disposition form-data; name=a', '1') + END,
      /must be name: value lines, got "Content-Disposition form-data/,
    ],
    [
      part('Content-Disposition: form-data;\r\n name=a', '1') + END,
      /name: value lines|Content-Disposition of part 1/,
    ],
    [
      part('Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64', 'MQ==') +
        END,
      /must not be encoded/,
    ],
    [
      part(
        'Content-Disposition: form-data; name=a\r\nContent-Type: text/plain; charset=utf-16',
        '1',
      ) + END,
      /charset of part 1 must be utf-8/,
    ],
  ]
  for (const [body, message] of cases)
    t.throws(() => parse(body), { code: 400, id: 'greeter', message }, JSON.stringify(body))
  const latin1 = Buffer.from(field('a', '\xff') + END, 'latin1')
  t.throws(() => parse(latin1), { code: 400, message: 'form field "a" must be UTF-8 text' })
})

t.test('rejects an invalid boundary parameter with 400', async (t) => {
  for (const boundary of ['', 'x'.repeat(71), 'a ', 'é', 'a\r\nb', 'a"b'])
    t.throws(
      () => parse(END, boundary),
      { code: 400, message: /requires a boundary parameter/ },
      boundary,
    )
  t.equal(
    read(
      `--a b'()+_,-./:=?\r\n${field('x', '1').slice(5, -2)}\r\n--a b'()+_,-./:=?--`,
      "a b'()+_,-./:=?",
    ),
    '{"x":"1"}',
  )
  t.equal(read(`--${'x'.repeat(70)}--`, 'x'.repeat(70)), '{}')
})

t.test('rejects more than 256 parts or a part header over 8 KiB with 400', async (t) => {
  t.equal(JSON.parse(read(field('a', '1').repeat(256) + END)).a.length, 256)
  t.throws(() => parse(field('a', '1').repeat(257) + END), {
    code: 400,
    message: /more than 256 parts/,
  })
  const padded = (length: number) =>
    part(`Content-Disposition: form-data; name=a\r\nX: ${'y'.repeat(length)}`, '1') + END
  t.equal(read(padded(8000)), '{"a":"1"}')
  t.throws(() => parse(padded(8192)), {
    code: 400,
    message: /header of part 1 must end within 8192 bytes/,
  })
})

t.test('adversarial bodies of 16 MiB are parsed in linear time', async (t) => {
  const size = 16 * 1024 * 1024
  const long = 'a'.repeat(70)
  const head = `--${long}\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n`
  const before = performance.now()
  for (const filler of [
    'a',
    '-',
    '\r\n',
    '\r\n--',
    `\r\n--${long.slice(1)}`,
    `\r\n-${long}`,
    ' ',
  ]) {
    const body = Buffer.concat([
      Buffer.from(head),
      Buffer.alloc(size, filler),
      Buffer.from(`\r\n--${long}--`),
    ])
    const { f } = parse(body, long)
    t.equal((f as Uint8Array).length, size, JSON.stringify(filler.slice(0, 8)))
  }
  t.throws(() => parse(Buffer.alloc(size, '\r\n--b '), 'b'), { code: 400 })
  t.throws(() => parse(Buffer.alloc(size, '--b\r\n'), 'b'), { code: 400 })
  t.ok(performance.now() - before < 10_000, `${performance.now() - before} ms`)
})

t.test('a random body is either parsed or rejected with 400', async () => {
  const piece = fc.constantFrom(
    ...[
      '--b',
      '\r\n',
      '--',
      'b',
      'Content-Disposition: form-data; name=',
      '"a"',
      'a',
      ';',
      ' filename=',
      ':',
      '\0',
      'x',
      field('a', '1'),
      file('f', '2'),
      END,
    ],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      try {
        parse(pieces.join(''))
      } catch (error) {
        return (error as { code?: number }).code === 400
      }
      return true
    }),
    { numRuns: scaleRuns(3000) },
  )
})
