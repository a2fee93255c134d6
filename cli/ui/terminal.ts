import { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { WriteStream } from 'node:tty'
import { escapeControls } from '../../lib/text/terminal-text.ts'

/**
 * Line ends and Select Graphic Rendition (ECMA-48 8.3.117), the only control sequences from services that reach the
 * terminal.
 */
const PASSED = /(\r?\n|\x1b\[[\d;:]{0,32}m)/
/** The beginning of a sequence matched by {@link PASSED}. */
const PARTIAL = /(?:\r|\x1b(?:\[[\d;:]{0,32})?)$/
const RESET = '\x1b[0m'
/** Sequences that reset all attributes. */
const RESETS: ReadonlySet<string> = new Set(['\x1b[m', RESET])

type Callback = (error?: Error | null) => void
type Write = (
  chunk: string | Uint8Array,
  encoding?: BufferEncoding | Callback,
  callback?: Callback,
) => boolean

/**
 * Escapes control sequences in all further output to a terminal, because services, logs and server errors may contain
 * any. Pipes and files stay byte-exact.
 */
export function guardTerminal(stream: WriteStream): void {
  if (!stream.isTTY) return
  const escapeChunk = createTerminalEscaper()
  const write = toRawWrite(stream)
  setWrite(stream, (chunk, ...rest) => write(escapeChunk(chunk), ...rest))
}

/** The terminal without the escaping of {@link guardTerminal}, for the CLI's own control sequences. */
export function toRawTerminal(stream: WriteStream): WriteStream {
  const terminal: WriteStream = Object.create(stream)
  setWrite(terminal, toRawWrite(stream))
  return terminal
}

/**
 * Returns a function that escapes the chunks of one stream. Colours are reset at the end of each line and chunk. An
 * incomplete character or sequence at the end of a chunk is buffered until the next chunk.
 */
export function createTerminalEscaper(): (chunk: string | Uint8Array) => string {
  const decoder = new StringDecoder('utf8')
  let incomplete = ''
  return (chunk) => {
    const text =
      incomplete + (typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk)))
    incomplete = PARTIAL.exec(text)?.[0] ?? ''
    return escapeText(text.slice(0, text.length - incomplete.length))
  }
}

function escapeText(text: string): string {
  let escaped = ''
  let isStyled = false
  // Parts with an odd index are matches of the pattern.
  for (const [i, part] of text.split(PASSED).entries()) {
    if (i % 2 === 0) escaped += escapeControls(part)
    else if (part.endsWith('\n')) {
      escaped += isStyled ? RESET + part : part
      isStyled = false
    } else {
      escaped += part
      isStyled = !RESETS.has(part)
    }
  }
  return isStyled ? escaped + RESET : escaped
}

/** The class's `write` method, which bypasses the stream's override. */
function toRawWrite(stream: WriteStream): Write {
  return (...args) => Writable.prototype.write.apply(stream, args as [string, BufferEncoding])
}

function setWrite(stream: WriteStream, write: Write): void {
  stream.write = write as WriteStream['write']
}
