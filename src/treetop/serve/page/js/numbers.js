// Number formatting.

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);

/** "1 text", "2,000 texts". */
export const counted = (number, noun) => `${count(number)} ${number === 1 ? noun : noun + "s"}`;

/** A share from 0 to 1 in percent; small ones with one decimal. */
export function percent(share) {
  const hundredths = 100 * share;
  return `${hundredths > 0 && hundredths < 9.95 ? hundredths.toFixed(1) : Math.round(hundredths)}%`;
}

/** A score: in percent if it is a probability, else as a plain number. */
export function scoreText(score, isProbability) {
  if (isProbability) return percent(score);
  return Math.abs(score) >= 10 ? score.toFixed(1) : score.toFixed(score < 0.01 && score > 0 ? 4 : 2);
}

export function duration(seconds) {
  if (seconds < 60) return counted(Math.max(1, Math.round(seconds)), "second");
  return counted(Math.round(seconds / 60), "minute");
}
