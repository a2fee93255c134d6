import { saveFile } from '../components/files/save-file.ts'
import type { LogBuffer } from './log-buffer.ts'

/** Downloads the retained log lines. */
export function saveLog(name: string, buffer: LogBuffer): void {
  const lines: string[] = []
  for (let i = 0; i < buffer.length(); i++) {
    const { timestamp, metadata, message } = buffer.at(i)!
    const time = new Date(timestamp).toISOString()
    lines.push(`${time} ${metadata['instance'] ?? ''} ${metadata['stream'] ?? ''} ${message}\n`)
  }
  saveFile(`${name}.log`, lines, 'text/plain')
}
