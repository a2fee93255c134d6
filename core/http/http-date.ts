const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const MONTH = `(${MONTHS.match(/.../g)!.join('|')})`
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})'
const IMF = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\\d{2}) ${MONTH} (\\d{4}) ${TIME} GMT$`)
const RFC_850 = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d{2})-${MONTH}-(\\d{2}) ${TIME} GMT$`,
)
const ASCTIME = new RegExp(
  `^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${MONTH} ([ \\d]\\d) ${TIME} (\\d{4})$`,
)
/** Two-digit years that would be further in the future are in the past (RFC 9110 §5.6.7). */
const FUTURE_YEARS = 50

/** Parses a date in one of the three formats of RFC 9110 §5.6.7. Returns milliseconds since 1970, or undefined. */
export function parseHttpDate(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  const value = text.trim()
  const imf = IMF.exec(value)
  if (imf !== null) return toMs(imf[3]!, imf[2]!, imf[1]!, imf, 4)
  const asctime = ASCTIME.exec(value)
  if (asctime !== null) return toMs(asctime[6]!, asctime[1]!, asctime[2]!, asctime, 3)
  const old = RFC_850.exec(value)
  if (old === null) return undefined
  const year = new Date(nowMs).getUTCFullYear()
  const guess = year - (year % 100) + Number(old[3])
  const full = guess > year + FUTURE_YEARS ? guess - 100 : guess
  return toMs(String(full), old[2]!, old[1]!, old, 4)
}

/** @param at index of the hour in `match`. */
function toMs(year: string, month: string, day: string, match: RegExpExecArray, at: number) {
  const [hour, minute, second] = [match[at], match[at + 1], match[at + 2]].map(Number)
  const ms = Date.UTC(
    Number(year),
    MONTHS.indexOf(month) / 3,
    Number(day),
    hour!,
    minute!,
    // 60 is a leap second.
    Math.min(second!, 59),
  )
  return Number.isNaN(ms) ? undefined : ms
}
