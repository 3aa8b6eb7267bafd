// The server divides a word's weight over its occurrences; here they are summed again.

export function wordWeights(words) {
  const weights = new Map();
  for (const { word, weight } of words) weights.set(same(word), (weights.get(same(word)) ?? 0) + weight);
  return weights;
}

export const same = (word) => word.toLowerCase();
